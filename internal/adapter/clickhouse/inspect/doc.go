// Package inspect tells what servers say of themselves: version, clock, disks, the size of
// tables, what the user may do, and the figures that are exported as metrics.
//
// It promises to change nothing. Nothing is told of a server that does not answer.
package inspect
