package ledger

// Span is a range of offsets, both ends included.
type Span struct{ First, Last int64 }

// Len returns how many offsets the span covers.
func (s Span) Len() int64 { return s.Last - s.First + 1 }

// Touched names an owner and a UTC day whose rows a range changed.
type Touched struct {
	Owner string
	Day   int32 // days since 1970-01-01
}

// Share is what became of those records of a range that are no rows: of one owner,
// received within one hour. Owners are told why events do not show.
type Share struct {
	Owner string
	Hour  int64 // of receipt, in hours since 1970
	// Duplicates, DeadLetters and Erased are counts of records.
	Duplicates, DeadLetters, Erased int64
}

// EntryKind says what an entry of the ledger tells.
type EntryKind string

// The kinds of entries.
const (
	// EntryRange is a range that was settled.
	EntryRange EntryKind = "range"
	// EntryGap is a range whose records were deleted from the topic before they were stored.
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
