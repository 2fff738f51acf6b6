// Package kafka is the only package besides the embedded broker that knows the
// Kafka client: the table of topics and their creation, the edge's producer, the
// sink's consumer, and the reader behind "millrace tap".
//
// The producer promises that a publication is reported as done only when every
// in-sync replica has every record, that memory stays below a limit when brokers
// are slow or away, and that the caller's own deadline ends the wait. It does not
// promise that a publication reported as failed left nothing behind: what was on
// its way may still arrive, and readers deduplicate by event id.
package kafka
