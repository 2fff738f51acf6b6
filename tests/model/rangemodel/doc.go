// Package rangemodel explores the range protocol of the sink as an abstract machine:
// every state that it can come to, by every order of steps and faults, breadth
// first. It proves nothing about the code, which tests/fault holds against real
// servers; it shows that the protocol which the code follows has no hole in the
// worlds explored, and that without any one of its pieces it has, by the shortest
// story that shows it.
//
// The world is three workers, two partitions with up to three records each, the
// group, and a server with a base table, a rollup fed by a view, and a ledger.
//
//   - A worker polls, seals a range at any point, commits the plan, sends a block
//     per month, writes the ledger, commits the offset. When it is given a partition, or
//     the group rejects its commit, it reads offset and metadata, and goes on with an
//     open plan first, which it commits again.
//   - The group knows members and a generation. It accepts a commit by these two and
//     by nothing else, whoever owns the partition, as brokers do. A member learns
//     later that the generation was raised; one that the group has given up joins
//     again under another id in the background, before its worker is told.
//   - The server applies a block to the base table and then, as a step of its own, to
//     the rollup. Each has its own memory of tokens. An insert whose client is gone
//     runs on, or stands still where it is, for as long as it likes.
//   - Faults are a crash at any step, a member given up while it works, a partition
//     taken away, a generation raised with everybody kept, a lost response to an insert,
//     a lost reply to either commit, and a window that forgets early, by raising its
//     low watermark or by a ceiling. Their number in one run is bounded; the order of everything is not.
//
// There is no step for a pause: a worker that does nothing while others go on is one
// whose steps come late, and every such order is explored. A worker that was given
// up, rejoined, and still holds the range that it froze before is a zombie.
//
// Looked at in every state: nothing committed is lost, no record has two rows in
// the base table as it is without FINAL or counts twice in the rollup, no resend
// within the window has a row, base and rollup agree, the committed offset does not
// go back, no token is sent with two different sets of rows, the ledger covers what
// is committed once, and everything can still come to an end.
//
// # What is left out, and why that is sound
//
// Time: a horizon is a rule about what may still happen. A token may be forgotten
// once its range is committed and no insert with it can be under way any more; that
// the real horizon, a count of inserts, is longer than an insert can take and than a
// plan may stay open is watched by metrics. The window's low watermark moves at any moment by
// hand instead of by the clock, so "within the window" means at or after the low watermark. A
// ceiling leaves out the first record of a log; that one is set at an offset, moves on and ends is
// the window's own, and held against the log by a property test of package dedup.
//
// Dead letters: a record that is not stored differs from a resend only in where it
// goes, before the insert. Rejected rows are part of a plan as the low watermark is: fixed in
// the metadata before anything is inserted under it.
//
// Compaction and control records: offsets without a record behave as resends do.
//
// Commits are atomic at the broker: the requests of one connection are worked off in
// order, and a worker has one commit under way. A commit that a broker carries out
// after its connection broke and a later one was accepted is not in the model.
//
// Offsets that are set back from outside, recreated topics and retention are halts or
// have an epoch of their own; no step here brings them about.
//
// # Reductions
//
// Workers are alike, so states that differ in their order are one. Tokens are
// forgotten at the earliest moment; keeping them longer stops more. A worker that
// lost its membership at a step from which it can only commit gets no further, so
// what it had in hand is left out, as is a generation that it has no use for. Once nothing can
// go wrong any more, partitions are walked one after the other. A test holds all of this
// against plain exploration.
//
// The flag -more-faults explores further than the tests do. States are seven words. The
// functions of the search carry go:norace: they run in one goroutine, and the detector would
// make them eight times slower.
package rangemodel
