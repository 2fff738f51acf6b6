// Package analyticstest answers the questions of the catalogue a second time, in
// plain Go over a slice of events, so that tests can compare. It shares no code
// with package analytics: time zones are walked a quarter of an hour at a time,
// filters are functions, distinct values are maps.
//
// It is for tests and is slow on purpose.
package analyticstest
