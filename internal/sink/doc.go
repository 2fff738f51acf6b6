// Package sink moves records from the event topics into the analytics tables,
// without loss and without doubles.
//
// Each partition has one owner, a worker, that goes through these steps, one
// range of offsets at a time:
//
//  1. Records are appended to the open range until a gate is reached: rows,
//     bytes or time.
//  2. The range is frozen: its first and last offset never change again.
//  3. Each record is looked up in the range itself and in the window of event
//     ids seen before; of several versions of an event the first one is kept.
//  4. What is left is decoded into one block per month of event_date, each with
//     its own insert token, made from nothing but the topic, the partition, the
//     range and the month. A record that cannot be decoded becomes a dead letter.
//  5. Dead letters are acknowledged, then the blocks are inserted. Whatever goes
//     wrong is tried again with the same blocks under the same tokens.
//  6. Only then the offset after the range is committed, and its event ids enter
//     the window.
//
// The package promises that nothing acknowledged by Kafka is lost whenever the
// process dies, that a range which is sent twice is stored once, and that memory
// does not grow with lag: records in hand are bounded by a budget, and nothing is
// fetched beyond it. ClickHouse being down, slow or full never makes a dead
// letter; it stops fetching, while group membership is kept. It refuses to commit
// for a partition that it may not own any more.
//
// It knows neither Kafka clients nor ClickHouse: Source, Inserter and DeadLetters
// are declared here and implemented by the adapters.
package sink
