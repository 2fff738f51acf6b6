package sink

// Point is a place in the steps of a range where a test may watch, or end, the
// process.
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

// Testing is what only tests set: it watches the steps, and takes locks away to
// show what each is good for.
type Testing struct {
	// Reached is called at each point, from the goroutine that is there; nil for
	// nobody.
	Reached func(Point, Partition)
	// WithoutPlan inserts ranges that were not planned, and forgets plans found.
	WithoutPlan bool
	// WithoutFence commits for whatever membership the client has now.
	WithoutFence bool
	// WithoutWindow takes no event for a duplicate.
	WithoutWindow bool
	// WithoutToken inserts without a token.
	WithoutToken bool
	// AnyServer starts on a server that does not keep what exactly once needs, such
	// as one whose tables keep nothing.
	AnyServer bool
}

func (t *Testing) reached(at Point, p Partition) {
	if t.Reached != nil {
		t.Reached(at, p)
	}
}
