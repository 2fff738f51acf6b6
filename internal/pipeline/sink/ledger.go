package sink

import (
	"context"
	"time"
)

// Span is a range of offsets, both ends included.
type Span struct{ First, Last int64 }

// Len returns how many offsets the span covers.
func (s Span) Len() int64 { return s.Last - s.First + 1 }

// Touched names an owner and a UTC day whose rows a range changed.
type Touched struct {
	Owner string
	Day   int32 // days since 1970-01-01
}

// EntryKind says what an entry of the ledger tells.
type EntryKind string

// The kinds of entries.
const (
	// EntryRange is a range that was settled.
	EntryRange EntryKind = "range"
	// EntryGap is a range whose records were gone before they were stored.
	EntryGap EntryKind = "gap"
)

// Entry is what the ledger keeps of a range. Every offset of it is in exactly one
// of the five counts: Stored + Duplicates + DeadLetters + Skipped + Erased =
// Span.Len().
type Entry struct {
	Topic     string
	TopicID   [16]byte
	Partition int32
	Epoch     int64
	Span      Span
	Kind      EntryKind

	Stored      int64
	Duplicates  int64
	DeadLetters int64
	Skipped     int64 // offsets without a record: control records, compaction, a gap
	Erased      int64 // records of what was erased before the range was stored

	// ReceivedFrom and ReceivedTo are the earliest and the latest time of receipt,
	// in Unix milliseconds; 0 where the range has no record.
	ReceivedFrom, ReceivedTo int64
	Touched                  []Touched // by stored rows, each pair once
	// Shares tell whose the records are that are no rows, each owner and hour once.
	// Those without an owner are in none.
	Shares []Share
}

// Ledger keeps what became of every range, beside the tables that it tells of.
type Ledger interface {
	// Epoch returns the epoch of a topic, the first part of its insert tokens: 1
	// until it is raised for the first time.
	Epoch(ctx context.Context, topic string) (int64, error)
	// Reached returns the offset after the last one that the ledger shows for a
	// partition of a topic, under any epoch up to the given one; 0 when it shows none.
	Reached(ctx context.Context, topic string, topicID [16]byte, partition int32, epoch int64) (int64, error)
	// Ranges returns, in order, up to limit spans that the ledger shows under the
	// epoch and that end at the offset from or after it.
	Ranges(ctx context.Context, topicID [16]byte, partition int32, epoch, from int64, limit int) ([]Span, error)
	// Write stores an entry under a token; the server ignores one it has seen.
	// Errors are as those of Inserter.Insert.
	Write(ctx context.Context, e *Entry, token string) error
}

// TokenMemory is what a server remembers of insert tokens.
type TokenMemory struct {
	Inserts int           // the latest, of which every table has the tokens
	For     time.Duration // and no longer than this; 0 means no bound in time
}

// Horizon returns how long a token is remembered, when so many inserts a second come from
// everybody.
func (m TokenMemory) Horizon(insertsPerSecond float64) time.Duration {
	horizon := time.Duration(1<<63 - 1)
	if m.For > 0 {
		horizon = m.For
	}
	// In seconds: few inserts make more of them than a Duration holds.
	if seconds := float64(m.Inserts) / insertsPerSecond; insertsPerSecond > 0 && seconds < horizon.Seconds() {
		horizon = time.Duration(seconds * float64(time.Second))
	}
	return horizon
}
