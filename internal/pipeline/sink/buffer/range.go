package buffer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// Range is a part of a partition whose offsets never change again.
type Range struct {
	ledger.Span

	// EpochBefore and EpochOfLast are the leader epochs of the record before the range and
	// of its last one, -1 when they are not known.
	EpochBefore, EpochOfLast int32

	Records []Held
	batches batches // of the records
	traced  []traced
	bytes   int64
}

// Bytes is what its records count.
func (r *Range) Bytes() int64 { return r.bytes }

// Traced returns the trace contexts of sampled requests of the records, the first few.
func (r *Range) Traced() []string {
	parents := make([]string, len(r.traced))
	for i := range r.traced {
		parents[i] = r.traced[i].parent
	}
	return parents
}

// LastReceived returns when the last record was received that names an event, in Unix
// milliseconds; 0 when none does.
func (r *Range) LastReceived() int64 {
	for i := len(r.Records) - 1; i >= 0; i-- {
		if r.Records[i].Named() {
			return r.Records[i].ReceivedAt
		}
	}
	return 0
}

// DropBatches lets go of the batches once nothing is to be read of them any more, and returns
// what does not count any more.
func (r *Range) DropBatches() (bytes int64) {
	bytes = r.bytes
	r.batches, r.bytes = nil, 0
	return bytes
}

// Release gives back what the records lay in.
func (r *Range) Release(m *Memory) {
	m.put(r.Records)
	r.Records = nil
}

// Gaps returns the offsets of the range that no record was delivered for.
func (r *Range) Gaps() (gaps []ledger.Span) {
	next := r.First
	for i := range r.Records {
		if at := r.Records[i].Offset; at > next {
			gaps = append(gaps, ledger.Span{First: next, Last: at - 1})
		}
		next = r.Records[i].Offset + 1
	}
	if next <= r.Last {
		gaps = append(gaps, ledger.Span{First: next, Last: r.Last})
	}
	return gaps
}

// Original returns the record at an offset of the range, as the log has it. Those of one
// batch are asked for by ascending offsets of a reader.
func (r *Range) Original(from *Reader, offset int64) (Original, error) {
	i, ok := slices.BinarySearchFunc(r.Records, offset, func(h Held, offset int64) int {
		return cmp.Compare(h.Offset, offset)
	})
	if !ok {
		return Original{}, fmt.Errorf("the range has no record at %d", offset)
	}
	if err := from.Open(r, &r.Records[i]); err != nil {
		return Original{}, err
	}
	return from.original(&r.Records[i])
}
