// Package fault proves what is promised about every acknowledged event: it is in
// the base table and in every rollup exactly once, whatever fails meanwhile.
//
// Each test makes a schedule of faults out of a seed, runs the product's own sink
// and edge through it, and then compares exact counters: what was acknowledged,
// the base table with and without FINAL, each rollup, the ledger, and the offsets
// that were committed on the way. A failure prints its seed and the command that
// replays it.
//
// Sinks run as processes of their own where they are killed or stopped: the test
// binary starts itself again. They are watched at the labelled points of package
// sink, and talk to ClickHouse through a faultproxy. Brokers are kfake, or real
// Apache Kafka where the test's name says so.
//
//	go test ./tests/fault                                  a few seeds of each
//	go test ./tests/fault -seeds 50 -report fault.md       many, and a report
//	go test ./tests/fault -run 'TestX/kfake' -seed 17      one again
//	go test ./tests/fault -run TestSoak -soak 5m           random faults under load
package fault
