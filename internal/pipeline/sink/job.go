package sink

import (
	"slices"
	"sync/atomic"

	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
	"github.com/millrace/millrace/internal/privacy/tombstone"
)

// job is a range on its way from its plan to its commit. Since its build nothing of what is
// stored of it changes.
type job struct {
	*buffer.Range

	// How it is to be stored, which the plan says.
	epoch    int64         // of its tokens
	window   windowExtents // of the window that decides about it
	rejected []int64       // offsets that the server rejects, in order
	replayed bool          // its plan was found when the partition was taken over
	// leader is what the plan names as the leader epoch of its last record: as it was planned,
	// also where the record is gone since. -1 is not known.
	leader int32
	// epochAfter is the epoch of the ranges behind it.
	epochAfter int64
	// tombstones are those that the range was built with, or that change nothing of
	// it. Those who insert replace them while those who send its dead letters ask them.
	tombstones atomic.Pointer[tombstone.Set]

	// What the build has made of it.
	blocks  []monthBlock
	letters []letter
	stored  int
	dups    int
	dead    int // all dead letters, also those that the server made
	erased  int // records of what was erased
	control int // records that only the broker needs
	touched []ledger.Touched
	shares  shares
}

// monthBlock is what a range brings for one month.
type monthBlock struct {
	month    int // YYYYMM
	block    Block
	rejected []int64 // of the range's rejected offsets those of this month, in order
}

// month returns what the range brings for a month; there is nearly always one
// only.
func (j *job) month(month int, newBlock func() Block) *monthBlock {
	for i := range j.blocks {
		if j.blocks[i].month == month {
			return &j.blocks[i]
		}
	}
	j.blocks = append(j.blocks, monthBlock{month: month, block: newBlock()})
	return &j.blocks[len(j.blocks)-1]
}

// rejects reports whether the server rejects the record at an offset. The blocks
// are cut there, and their tokens named by it, whatever has become of the record.
func (j *job) rejects(offset int64) bool {
	_, rejected := slices.BinarySearch(j.rejected, offset)
	return rejected
}

// entry is what the ledger keeps of the range.
func (j *job) entry(p Partition, topicID [16]byte) *ledger.Entry {
	e := &ledger.Entry{
		Topic: p.Topic, TopicID: topicID, Partition: p.Index, Epoch: j.epoch, Span: j.Span, Kind: ledger.EntryRange,
		Stored: int64(j.stored), Duplicates: int64(j.dups), DeadLetters: int64(j.dead), Erased: int64(j.erased),
		Skipped: j.Len() - int64(len(j.Records)-j.control), Touched: j.touched, Shares: j.shares.list(),
	}
	for i := range j.Records {
		at := j.Records[i].ReceivedAt
		if !j.Records[i].Named() {
			continue
		}
		if e.ReceivedFrom == 0 || at < e.ReceivedFrom {
			e.ReceivedFrom = at
		}
		e.ReceivedTo = max(e.ReceivedTo, at)
	}
	return e
}
