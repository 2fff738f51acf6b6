package sink

import (
	"context"
	"errors"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

// ErrFenced is wrapped by Source.Commit when the group does not accept commits
// of this session any more: somebody else may own the partition.
var ErrFenced = errors.New("session is no longer valid")

// ErrTruncated is wrapped by what RebalanceListener.Gone is told when the log was cut below what was
// read of it, and goes on with other records. To read on would skip those between.
var ErrTruncated = errors.New("the partition was truncated and continues with other records")

// ErrPanicked is wrapped by the error of a record batch at which the code that reads it panics. Whoever
// reads the batch next would end by it too.
var ErrPanicked = errors.New("the code that reads a record batch panicked")

// Partition names one partition of a topic.
type Partition struct {
	Topic string // without prefix
	Index int32
}

// Session says under which membership records were read. The generation rises
// whenever the group changes; a partition that is kept through it goes on. A
// changed member means that the partition may have been somebody else's
// meanwhile.
type Session struct {
	Member     string
	Generation int32
}

// Assignment is a partition that this process owns from now on.
type Assignment struct {
	Partition Partition
	TopicID   [16]byte // the topic's UUID: a topic that is recreated has another one
	// Committed is the committed offset, at which delivery begins; -1 when there is
	// none, and delivery begins at LogStart.
	Committed int64
	// Metadata is what was committed beside the offset.
	Metadata string
	// LeaderEpoch is what was committed as that of the record before Committed; -1 when
	// it is not known.
	LeaderEpoch int32
	// LogStart is the first offset that the log still holds.
	LogStart int64
}

// Delivery is a run of records of one partition in offset order. The slice, and all
// that its records point to, is only valid during the call it is given to; what they
// were unpacked from stays as long as somebody has it.
type Delivery struct {
	Partition Partition
	Session   Session
	// End is the offset after the partition's last record, at the time of the
	// fetch.
	End int64
	// Packed is the batch of the log that the records are of. Runs of one batch, of which
	// there may be several, have the same.
	Packed  buffer.Packed
	Records []buffer.Record
}

// Progress is what is committed for a partition.
type Progress struct {
	// Next is the offset of the first record that is not settled.
	Next int64
	// LeaderEpoch is that of the record before Next, -1 when it is not known: by it a
	// consumer that begins there finds out that the log was truncated and continues with other records.
	LeaderEpoch int32
	// Metadata is kept beside the offset by the broker; at most 4,096 bytes.
	Metadata string
}

// RebalanceListener is told which partitions come and go. The calls are made one at a time,
// and never during a delivery.
type RebalanceListener interface {
	// Assigned starts the work on partitions; what is delivered of them begins at
	// their committed offsets.
	Assigned(ctx context.Context, assigned []Assignment)
	// Revoked ends the work on partitions whose offsets may still be committed
	// during the call. When it returns, nothing of them is in hand.
	Revoked(ctx context.Context, revoked []Partition)
	// Lost ends the work on partitions that already belong to somebody else.
	Lost(ctx context.Context, lost []Partition)
	// Gone says that the log does not hold what comes next in a partition:
	// retention was faster, or the log was cut; where the error wraps ErrTruncated,
	// that it has something else there; where it wraps buffer.ErrUnreadable, that it cannot be
	// read, and ErrPanicked too where this build is why. Nothing more is delivered of it.
	Gone(ctx context.Context, p Partition, err error)
}

// Source delivers the records of the partitions that this process owns. Open and
// Poll are called from one goroutine, the others from any.
type Source interface {
	// Open begins to take part in the group; listener's methods are called from then
	// on until Close returns.
	Open(ctx context.Context, listener RebalanceListener) error
	// Poll waits for records and hands over about maxBytes of them at most. It
	// returns nil also when none came, and an error when the source is of no use
	// any more or ctx has ended.
	Poll(ctx context.Context, maxBytes int64, deliver func(Delivery)) error
	// Commit stores progress, if the partition is still owned under the session
	// or a later one of the same member; else its error wraps ErrFenced.
	Commit(ctx context.Context, p Partition, s Session, progress Progress) error
	// Pause stops fetching a partition, while it stays owned.
	Pause(p Partition)
	// Resume takes fetching up again where it was paused.
	Resume(p Partition)
	// Rewind makes the source forget what it delivered of a partition: soon after,
	// if it still owns it, Lost and then Assigned are called for it, and delivery
	// begins again at the committed offset.
	Rewind(p Partition)
	// Close leaves the group.
	Close()
}

// Observer is shown which events the log holds; a dedup.Window is one.
type Observer interface {
	// Expect says, before the first one, how many observations there are at most.
	Expect(observations int64)
	// Observe is shown an event and when it was received, in Unix milliseconds.
	Observe(h record.Hash, receivedAt int64) (before int32, known bool)
}

// Stretch is a part of a partition, read in one go or in several.
type Stretch struct {
	// Since is when the first record was received, or before that, in Unix milliseconds.
	Since   int64
	Next    int64 // the offset where reading goes on; 0 where it has not begun
	To      int64 // the offset at which it ends
	Records int64 // that were read
}

// Reader reads the log of a partition aside from the group, whoever owns it.
type Reader interface {
	// Observations reads a stretch of a partition, or what is left of it, and shows what it
	// sees to the observer. It notes in the stretch how far it came, also when it fails:
	// what was seen before that needs not be read again.
	Observations(ctx context.Context, p Partition, s *Stretch, w Observer) error
	// Holds reports whether the log has records at any of the offsets.
	Holds(ctx context.Context, p Partition, offsets ledger.Span) (bool, error)
	// LogStart returns the first offset that the log of a partition still holds.
	LogStart(ctx context.Context, p Partition) (int64, error)
	// Ends returns the offsets after the last records of partitions. Those that cannot be asked
	// about are not among them, and the error says why.
	Ends(ctx context.Context, ps []Partition) (map[Partition]int64, error)
	// ReceivedAt returns when the record at an offset was received, in Unix milliseconds, or the
	// first record after it where there is none. It may be that of one shortly before it, which
	// was written along with it.
	ReceivedAt(ctx context.Context, p Partition, offset int64) (int64, error)
}
