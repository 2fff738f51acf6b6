// Package exposure tells which visitors were given which variants of feature flags.
//
// It promises that telling never waits, neither for Kafka nor for a store: what does not fit
// into memory is dropped and counted. A visitor is told once per website, flag, variant,
// environment and UTC day, by an id that is made of just these, so that what two processes
// tell, or one that was started again, is one exposure to whoever stores it. An e-mail
// address leaves the package only as a hash, and of the rest of a context nothing does.
//
// It refuses to tell of nobody: who has neither a user id, an e-mail address nor an anonymous
// id, or is called Nobody, is not counted.
package exposure
