// Package ratelimit decides whether a caller may ask again.
//
// It promises that within any stretch of time as long as a window, wherever it
// begins, exactly the limit's requests are admitted and not one more; that a
// request which is rejected counts against nothing; and that all that a request
// needs (its family's window, the window of a key's own limit, a slot among the
// key's requests under way) is given together or not at all. A decision in memory
// costs no allocation, and no step of the machine's clock disturbs it.
//
// Several processes decide together through a [Shared] settler. While that is
// away each goes on by itself, from what it has admitted: then all of them
// together admit up to the limit times their number, and nobody is rejected or
// kept waiting because of it.
//
// Memory is bounded by config.Limits.Memory. Who would exceed it makes the
// limiter forget those who asked least recently, never one whose request is under
// way. The package knows nothing of HTTP and decides nothing about access.
package ratelimit
