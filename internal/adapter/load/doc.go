// Package load sends requests to a running host at fixed moments and tells how long
// the responses took.
//
// It promises an open loop: when a request is sent depends on the rate and never on
// answers, and a latency counts from the moment at which the request was to be sent,
// so that a host that stalls is seen to (coordinated omission is not left out). A
// run ends when its duration is over, or when its context does, and then has a
// Report; requests that were due and could not be sent any more are counted in it.
//
// It refuses to look for the highest rate by itself, and to repeat what failed.
package load
