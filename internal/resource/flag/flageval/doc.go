// Package flageval decides which variant of a feature flag somebody gets.
//
// It promises the same result for the same definition, context and time, on every machine
// and for good: what a percentage is drawn by is written down here and does not change. An
// evaluation reads no clock, does no I/O and allocates nothing; what is asked of a text as
// a whole, such as whether it is a regular expression, is asked once, by Compile. It keeps
// nothing of a context.
//
// It does not check what a definition may hold: Check does that, and Compile takes what
// Check has nothing against.
package flageval
