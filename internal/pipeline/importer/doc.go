// Package importer imports files of events: NDJSON or CSV, as they are or compressed
// with gzip or zstd. Every event passes the checks of POST /track, by the same
// code, and goes to the backfill topic whatever its age.
//
// # What is promised
//
// An event counts as accepted once all in-sync replicas have it. A line that is
// rejected is told with its number, field and rule, and the others go on. How far
// an import has come stands in a checkpoint beside the file; one that was stopped
// or killed goes on behind the last acknowledged line. It may then send lines
// again, under the ids that they had: an event without an eventId gets one made of
// the file's content and its line, and takes place at the file's time when it has
// no timestamp. So even an import whose checkpoint is lost adds nothing twice, as
// long as the file is the same.
//
// Events reach their topic in the order of the file. Memory is bounded, whatever
// the file holds: a line may be as long as a request's body.
//
// # What is rejected
//
// A file that has changed since its checkpoint was written, or a checkpoint for
// other credentials, ends the import before anything is sent: going on would store
// events twice, or for somebody else.
package importer
