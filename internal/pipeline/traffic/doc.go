// Package traffic makes up the traffic that websites have: visitors who come back,
// in visits of some pages each, with what a tracker tells of them. It is for load
// tests, benchmarks and data sets to look at.
//
// It promises that the same seed and run give the same bytes for the same times, that
// shares and distributions are those of its tables, and that what it makes is
// accepted: the texts are in the form in which the ingestion host stores them. Ids are
// shaped like a tracker's and differ between runs of a seed; 64 bits of each are
// random.
//
// It refuses to know where the events go. A World is shared; a Source is one
// goroutine's.
package traffic
