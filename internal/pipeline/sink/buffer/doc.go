// Package buffer holds the records of a sink from their delivery until they are settled.
//
// Records are kept as they came, in their packed batches. Each partition has an Open range
// that they are appended to; Triggers say when it is due, and it is sealed to a Range, whose
// offsets never change again. A Budget counts what all partitions have in hand, and where it
// has run out a Focus says which few of them are fetched, so that their ranges become whole.
//
// It promises that memory does not grow with lag: what is asked for fits into the budget, but
// for one delivery, and for one span that has to be whole. What an Open or a Range holds has
// one user at a time; Budget, Memory, Pool and Triggers have any number.
//
// It knows nothing of plans, windows and tables.
package buffer
