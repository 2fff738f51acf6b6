// Package dataset fills a folder with a year of traffic, for measurements that need
// much of it and for people who want to see the product with some.
//
// The folder is the data folder of a standalone: `millrace standalone --data.dir DIR`
// runs on it. Rows go straight into ClickHouse, as blocks of the sink's, so that
// views fill the rollups; each block has a token of its own, and what has been
// inserted is noted, so that a fill that was stopped goes on where it was.
//
// What it holds is decided by seed, rows and last day: websites by Zipf's law over
// twelve months, the first of which has a tenth of all rows in the last thirty days.
// Beside the rows of events there are measurements and errors.
package dataset
