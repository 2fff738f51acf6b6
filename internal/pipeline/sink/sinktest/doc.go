// Package sinktest watches the steps of a sink, and goes without one of its locks to show
// what it is good for. It does so from outside, by what it wraps the parts of a sink in.
//
// It promises that a sink without it contains nothing of this: no program links it.
package sinktest
