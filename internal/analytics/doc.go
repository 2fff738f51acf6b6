// Package analytics answers questions about stored events.
//
// The questions are data: Catalog lists every query type with its columns,
// filters, sort fields and SQL, and everything else (the types endpoint,
// validation, compilation, the reference page) reads that table. A request
// becomes statements, and a Runner executes them.
//
// It promises that nothing a caller sends ever becomes SQL text: input travels as
// typed parameters, and two requests that differ only in their values compile to
// the same text. It promises that what a type does not support (a filter, an
// operator, a sort field, a granularity) is an error that says what it does
// support, never something that is ignored. Ranges are half-open and their days
// and hours are those of the request's time zone, as package time knows them.
//
// It refuses to decide about access, which is done before, and to know how
// ClickHouse is reached.
package analytics
