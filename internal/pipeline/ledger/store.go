package ledger

import (
	"context"
	"time"
)

// Settled is how far the sink has settled a partition that it owns.
type Settled struct {
	Topic     string // without prefix
	TopicID   [16]byte
	Partition int32
	// Epoch is that of the ranges that come next.
	Epoch int64
	// Next is the committed offset. An entry for every offset before it was
	// acknowledged before it was committed.
	Next int64
}

func (p *Settled) partition() Partition { return Partition{p.Topic, p.TopicID, p.Partition} }

// Mark is a cursor that is kept.
type Mark struct {
	Partition Partition
	Cursor    Cursor
}

// Reason says why a day is listed as dirty.
type Reason string

// The reasons.
const (
	ReasonOver   Reason = "over"   // as the verdict Over
	ReasonUnder  Reason = "under"  // as the verdict Under
	ReasonReplay Reason = "replay" // listed before its records were stored again
	ReasonErased Reason = "erased" // listed before rows of its were deleted
	ReasonGrowth Reason = "growth" // listed before their owner moved to a new partition
	// ReasonExpired is listed before all rows of its are deleted, and no longer after.
	ReasonExpired Reason = "expired"
)

// Listed is a day of an owner whose rollups are not to be used.
type Listed struct {
	Touched
	Counts

	Reason  Reason
	FoundAt time.Time // set by the server
}

// Store is what is kept beside the tables, and what is asked of them.
type Store interface {
	Entries
	Rollups
}

// Entries are the entries of the ledger, and the marks up to where they were
// checked.
type Entries interface {
	// Entries returns up to limit entries of a partition, each span once, ordered
	// by epoch, first and last offset: those of the cursor's epoch that end at or
	// after its offset, and all of later epochs.
	Entries(ctx context.Context, p Partition, from Cursor, limit int) ([]Entry, error)
	// Mark returns the furthest mark of a partition; known is false when there is
	// none, or none that is young enough for the ledger to reach back to it.
	Mark(ctx context.Context, p Partition) (c Cursor, known bool, err error)
	// SetMarks keeps marks.
	SetMarks(ctx context.Context, marks []Mark) error
	// InsertRate returns how many inserts a second were made over the last 10
	// minutes, by everybody and for all topics.
	InsertRate(ctx context.Context) (float64, error)
}

// Rollups compares the rollups with the tables that they are made of, and keeps
// the list of the days that differ. The list is one for all: a day that is on it
// is answered from the base, whatever is asked.
type Rollups interface {
	// Count observes pairs in the table that a topic is stored in, or in all
	// together for an empty topic; a pair that no table knows has zeros, and so has
	// every pair of a table without rollups. The result is in the order of the
	// pairs.
	Count(ctx context.Context, topic string, pairs []Touched) ([]Counts, error)
	// Differing returns those of the pairs for which any rollup answers otherwise
	// than its base: in any cell of owner, time and name the number of events, or
	// of visitors or sessions.
	Differing(ctx context.Context, pairs []Touched) ([]Touched, error)
	// List puts days on the list of the dirty ones.
	List(ctx context.Context, days []Listed) error
	// Clear takes days off the list.
	Clear(ctx context.Context, days []Touched) error
	// Dirty returns how many days are listed.
	Dirty(ctx context.Context) (int, error)
	// Found returns up to limit listed days, chosen at random, that were listed
	// because they were found to differ.
	Found(ctx context.Context, limit int) ([]Touched, error)
}
