// Package tally counts, for each website or organization and minute, what became
// of the events that one edge was sent, and publishes the counts to ingestion.v1:
// so that whoever asks why events do not show finds out.
//
// A count has one of a few outcomes: accepted, bot, excluded, declined, or the code of a
// rejection. What is not known to belong to anybody is counted for nobody.
//
// Counting costs a lock and a lookup, and nothing is allocated but for the first
// event of an owner in a minute. Memory is bounded: beyond MaxCells owners and
// minutes at a time, events are not counted, which a metric says.
//
// Counts are published once a minute, and again until they are acknowledged, under
// ids that stay the same: however often a count is sent, it is stored once. A
// clean stop publishes what is left. A process that is killed takes the counts of
// its last minute with it, and those that could not be published; the events
// themselves are never affected.
package tally
