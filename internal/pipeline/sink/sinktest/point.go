package sinktest

import "github.com/millrace/millrace/internal/pipeline/sink"

// Point is a failpoint: a place in the steps of a range where a test may watch, hold or end
// the process.
type Point string

// The points, in their order.
const (
	PointPolled    Point = "polled"    // records were delivered, nothing is frozen
	PointPlanned   Point = "planned"   // the plan is committed
	PointInserting Point = "inserting" // before each insert of a block
	PointInserted  Point = "inserted"  // all blocks are acknowledged, the ledger is not written
	PointRecorded  Point = "recorded"  // the ledger is written, the offset is not committed
	PointCommitted Point = "committed" // the offset is committed, the window does not know yet
	PointRevoking  Point = "revoking"  // a partition is being given back, nothing is dropped yet
)

// Points lists them.
var Points = []Point{PointPolled, PointPlanned, PointInserting, PointInserted, PointRecorded, PointCommitted, PointRevoking}

// Reached is called at each point, from the goroutine that is there.
type Reached func(at Point, p sink.Partition)
