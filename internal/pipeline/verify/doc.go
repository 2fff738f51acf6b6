// Package verify compares the event topics with what was stored of them: every
// event of a topic is in the base table, every row of the base table is an event
// of a topic, and the rollups answer as the base does.
//
// It reads the topics again, up to the offsets that were committed when it began,
// and trusts neither the ledger nor the sink's decisions. It takes into account
// what was left out on purpose: dead letters, the days that the table of
// exclusions names, and the records that tombstones cover. What is still under way
// is never a difference; the report says how much of it was not compared.
//
// Memory is bounded by the records of one slice, whatever the time range; the
// differences themselves are counted beyond what is shown.
//
// The package knows neither Kafka nor ClickHouse: Topic and Base are declared
// here.
package verify
