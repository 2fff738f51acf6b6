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
// The ClickHouse behind the proxies belongs to this test binary alone: it starts with
// the first trial and ends with the last, and no other package's tests reach it. The
// trials share it, each with a database and a proxy of its own; one that kills a server
// has its own. Should the shared one die in the middle of a trial, which none has a
// reason for, it is started again and trials may well end as they should; the binary
// ends with a panic all the same, which nobody runs again (package clickhousetest).
//
// A few trials run beside each other, and beside them a few of those that mostly wait.
// Those that measure the machine, or count what the server counts for all, run alone.
//
//	go test ./tests/fault                                  a few seeds of each
//	go test ./tests/fault -seeds 50 -report fault.md       many, and a report
//	go test ./tests/fault -run 'TestX/kfake' -seed 17      one again
//	go test ./tests/fault -run TestSoak -soak 5m           random faults under load
//	go test ./tests/fault -run TestHostile -hostile 10m    what takes most memory
package fault
