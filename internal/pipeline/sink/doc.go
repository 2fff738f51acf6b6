// Package sink moves records from the event topics into the analytics tables,
// without loss and without doubles.
//
// Each partition has one owner, a worker. It takes the partition over: reads what
// was committed, makes the window of events seen before whole again, and finds the
// plan that its predecessor may have left. Then it goes through these steps, one
// range of offsets at a time:
//
//  1. Records are appended to the open range until a trigger is reached: rows,
//     bytes or time.
//  2. The range is sealed: its first and last offset never change again. They are
//     committed as a plan, in the metadata beside the offset, which stays as it is.
//  3. Each record is looked up in the range itself and in the window; of several
//     versions of an event the first one is kept.
//  4. What is left is decoded into one block per month of event_date, each with
//     its own insert token, made from nothing but the epoch, the topic, the
//     partition, the range and the month. A record that cannot be decoded becomes
//     a dead letter.
//  5. The blocks are inserted while dead letters are sent; when both are
//     acknowledged the ledger is written. Whatever goes wrong is tried again with
//     the same blocks under the same tokens.
//  6. Only then the offset after the range is committed, and what was seen enters
//     the window.
//
// The package promises that nothing acknowledged by Kafka is lost whenever the
// process dies, that a range is stored once however often and by whomever it is
// sent while the server remembers its token, and that memory does not grow with
// lag: records in hand are bounded by a budget, and nothing is fetched beyond it.
// ClickHouse being down, slow or full never makes a dead letter; it stops fetching,
// while group membership is kept. It refuses to commit for a partition that it may
// not own any more, and to go on where what was committed, what the log holds and
// what the ledger shows do not fit together.
//
// Records in hand are held by package buffer, and what was seen is remembered by package
// dedup; here stands who decides what comes next, a worker, and who takes a range through
// these steps, a settler.
//
// It knows neither Kafka clients nor ClickHouse: Source, Inserter and DeadLetters
// are declared here and implemented by the adapters.
package sink
