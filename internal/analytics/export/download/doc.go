// Package download writes exports as files: NDJSON, CSV or Parquet, as many at a time
// as fit into the process, and not too many of one organization.
//
// It promises that an export takes the memory of a few blocks, whatever its length,
// and that nothing is written before the first rows are there. It rejects one more
// than its bounds. What writes the formats is linked into the query host alone: the
// sink, which shares the reading of tables with it, needs none of it.
package download
