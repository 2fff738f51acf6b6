package sinktest

import "github.com/millrace/millrace/internal/pipeline/sink"

// Failpoint is a failpoint: a place in the steps of a range where a test may watch, hold or end
// the process.
type Failpoint string

// The failpoints, in their order.
const (
	FailpointPolled    Failpoint = "polled"    // records were delivered, nothing is sealed
	FailpointPlanned   Failpoint = "planned"   // the plan is committed
	FailpointInserting Failpoint = "inserting" // before each insert of a block
	FailpointInserted  Failpoint = "inserted"  // all blocks are acknowledged, the ledger is not written
	FailpointRecorded  Failpoint = "recorded"  // the ledger is written, the offset is not committed
	FailpointCommitted Failpoint = "committed" // the offset is committed, the window does not know yet
	FailpointRevoking  Failpoint = "revoking"  // a partition is being given back, nothing is dropped yet
)

// Failpoints lists them.
var Failpoints = []Failpoint{
	FailpointPolled, FailpointPlanned, FailpointInserting, FailpointInserted, FailpointRecorded, FailpointCommitted,
	FailpointRevoking,
}

// Reached is called at each failpoint, from the goroutine that is there.
type Reached func(at Failpoint, p sink.Partition)
