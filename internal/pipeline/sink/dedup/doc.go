// Package dedup remembers which events a sink has seen, so that one that is sent twice is
// stored once.
//
// A Window is of one partition, and counts in record time. It promises that what it knows is
// a function of the log, its low watermark and its ceilings: whoever reads the log again
// with them decides the same. It is bounded by its keys, and all of them together by a Memory;
// what is forgotten early shows in its coverage. It refuses to forget because of a record
// whose time is ahead of most others.
//
// It knows nothing of topics, ranges and tables.
package dedup
