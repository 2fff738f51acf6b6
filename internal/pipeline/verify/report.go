package verify

import (
	"cmp"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// Kind says what a difference is.
type Kind string

// The kinds of differences.
const (
	// Missing is an event of a topic that was not stored.
	Missing Kind = "missing"
	// Unexpected is a row that is no event of a topic.
	Unexpected Kind = "unexpected"
	// RollupDiffers is a day of an owner on which a rollup answers otherwise than
	// the base.
	RollupDiffers Kind = "rollup"
	// Uncommitted is a partition whose sink has committed no offset: what it holds can be
	// compared with nothing.
	Uncommitted Kind = "uncommitted"
)

// Day counts what concerns one UTC day of events; of records that are no events,
// the day of receipt.
type Day struct {
	Date         string `json:"date"`
	InTopic      int64  `json:"inTopic"`      // records
	Distinct     int64  `json:"distinct"`     // events whose first copy is among them
	InBase       int64  `json:"inBase"`       // of those, stored
	Missing      int64  `json:"missing"`      // neither stored nor accounted for
	Unexpected   int64  `json:"unexpected"`   // rows that are no event of a topic
	Excluded     int64  `json:"excluded"`     // not stored, and deleted or erased on purpose
	DeadLettered int64  `json:"deadLettered"` // records
	Rollups      int64  `json:"rollups"`      // owners for which a rollup differs
	Changing     int64  `json:"changing"`     // owners whose rollups could not be judged while events come
}

func (d *Day) add(e *Day) {
	for _, n := range []struct {
		sum  *int64
		more int64
	}{
		{&d.InTopic, e.InTopic},
		{&d.Distinct, e.Distinct},
		{&d.InBase, e.InBase},
		{&d.Missing, e.Missing},
		{&d.Unexpected, e.Unexpected},
		{&d.Excluded, e.Excluded},
		{&d.DeadLettered, e.DeadLettered},
		{&d.Rollups, e.Rollups},
		{&d.Changing, e.Changing},
	} {
		*n.sum += n.more
	}
}

// Example is one difference.
type Example struct {
	Kind      Kind   `json:"kind"`
	Topic     string `json:"topic,omitempty"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Owner     string `json:"owner"`
	Day       string `json:"day"`
	EventKey  uint64 `json:"eventKey,string"`
	Why       string `json:"why"`
}

// Unsettled are the offsets of a partition, within the time, that are not below the committed one.
type Unsettled struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      int64  `json:"from"`    // the first of them
	Records   int64  `json:"records"` // at most
}

// Report is the outcome.
type Report struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	Days  []Day     `json:"days"`
	Total Day       `json:"total"`
	// Uncommitted counts records of partitions without a committed offset, of whatever day.
	Uncommitted int64 `json:"uncommitted"`
	// Unsettled are records of the time that the sinks have not settled yet, which is no
	// difference; they were compared with nothing.
	Unsettled []Unsettled `json:"unsettled"`
	Examples  []Example   `json:"examples"`

	byDay map[int32]*Day
	left  map[Kind]int
}

func newReport(o Options) *Report {
	return &Report{
		Since: o.Since, Until: o.Until, Days: []Day{}, Unsettled: []Unsettled{}, Examples: []Example{},
		byDay: map[int32]*Day{},
		left:  map[Kind]int{Missing: o.Examples, Unexpected: o.Examples, RollupDiffers: o.Examples, Uncommitted: o.Examples},
	}
}

// Same reports whether there is no difference.
func (r *Report) Same() bool {
	return r.Total.Missing+r.Total.Unexpected+r.Total.Rollups+r.Uncommitted == 0
}

func (r *Report) day(day int32) *Day {
	d := r.byDay[day]
	if d == nil {
		d = &Day{Date: ledger.Date(day)}
		r.byDay[day] = d
	}
	return d
}

func (r *Report) example(e Example) {
	if r.left[e.Kind] > 0 {
		r.left[e.Kind]--
		r.Examples = append(r.Examples, e)
	}
}

func (r *Report) finish() {
	r.Total.Date = "total"
	for _, d := range r.byDay {
		d.Distinct = d.InBase + d.Missing + d.Excluded + d.DeadLettered
		r.Days = append(r.Days, *d)
		r.Total.add(d)
	}
	slices.SortFunc(r.Days, func(a, b Day) int { return cmp.Compare(a.Date, b.Date) })
}
