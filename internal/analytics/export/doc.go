// Package export says what of the stored rows can be handed out: the raw events,
// vitals and errors of a website and a range of time, in which columns and formats.
//
// It promises that rows come in the order of the table's sort key, each once; and
// that an export which was cut off, or asked for in pages, goes on after any row
// with that row's cursor and neither repeats nor leaves out one that was there
// when it began. It refuses to sort by anything else: an order that the table
// does not have would have to be made before the first row. Package download writes
// the files.
package export
