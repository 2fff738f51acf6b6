package buffer

import (
	"cmp"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// Open collects the records of a partition that are not sealed yet.
type Open struct {
	records []Held
	batches batches  // of the records
	traced  []traced // sampled requests of the records, the first few
	bytes   int64
	since   time.Time // when the first one came
	first   int64     // the offset that the next range begins at
	next    int64     // the offset after the last record; first before any
	epochs  epochs
}

// NewOpen returns an empty one that begins at an offset; before is the leader epoch of the
// record before that, -1 when it is not known.
func NewOpen(first int64, before int32) Open {
	return Open{first: first, next: first, epochs: epochs{before: before}}
}

// Append takes records of a batch in offset order and returns what they count against the
// budget. What is below Next was taken before.
func (o *Open) Append(p Packed, records []Record, now time.Time, m *Memory) (bytes int64) {
	skip, _ := slices.BinarySearchFunc(records, o.next, func(r Record, next int64) int {
		return cmp.Compare(r.Offset, next)
	})
	records = records[skip:]
	if len(records) == 0 {
		return 0
	}
	if len(o.records) == 0 {
		o.since = now
		if o.records == nil {
			o.records = m.held.Get()
		}
	}
	var batch uint32
	o.batches, batch = o.batches.put(p)
	for i := range records {
		o.epochs.at(records[i].Offset, records[i].LeaderEpoch)
		h := hold(&records[i], batch)
		o.records = append(o.records, h)
		o.trace(&records[i])
		bytes += h.bytes()
	}
	o.bytes += bytes
	o.next = records[len(records)-1].Offset + 1
	return bytes
}

// trace remembers the trace that a record belongs to.
func (o *Open) trace(r *Record) {
	if !sampled(r.Traceparent) || len(o.traced) == maxTraced {
		return
	}
	if n := len(o.traced); n == 0 || o.traced[n-1].parent != string(r.Traceparent) {
		o.traced = append(o.traced, traced{r.Offset, string(r.Traceparent)})
	}
}

// Seal cuts off the next range: the first n records, up to the offset last.
// Offsets before and between them that have no record belong to it, so that
// ranges follow each other without a gap. Of what is left, which is seldom more than one
// delivery, the records are copied.
func (o *Open) Seal(n int, last int64, m *Memory) *Range {
	r := &Range{Span: ledger.Span{First: o.first, Last: last}, EpochBefore: o.epochs.before}
	if n > 0 && o.records[n-1].Offset == last {
		r.EpochOfLast = o.epochs.upTo(last)
	} else {
		r.EpochOfLast = o.epochs.lostAt(last)
	}
	o.first = last + 1
	if n == 0 {
		return r
	}
	r.Records, r.batches = o.records[:n], o.batches
	for i := range r.Records {
		r.bytes += r.Records[i].bytes()
	}
	for len(o.traced) > 0 && o.traced[0].offset <= last {
		r.traced, o.traced = append(r.traced, o.traced[0]), o.traced[1:]
	}
	rest := o.records[n:]
	o.records, o.batches, o.bytes = nil, nil, o.bytes-r.bytes
	if len(rest) == 0 {
		return r
	}
	begin := rest[0].value.batch
	_, o.batches = r.batches.cut(begin)
	r.batches, _ = r.batches.cut(r.Records[n-1].value.batch)
	o.records = append(m.held.Get(), rest...)
	for i := range o.records {
		o.records[i].value.batch -= begin
	}
	return r
}

// Release lets go of what is in hand; the range begins and goes on where it did.
func (o *Open) Release(m *Memory) {
	m.put(o.records)
	*o = Open{first: o.first, next: o.next, epochs: o.epochs.forgotten()}
}

// UpTo returns how many records, from the first, have offsets up to last.
func (o *Open) UpTo(last int64) int {
	n, _ := slices.BinarySearchFunc(o.records, last+1,
		func(h Held, offset int64) int { return cmp.Compare(h.Offset, offset) })
	return n
}

// Holds reports whether the record at an offset is in hand.
func (o *Open) Holds(offset int64) bool {
	n := o.UpTo(offset)
	return n > 0 && o.records[n-1].Offset == offset
}

// LeaderAt returns the leader epoch of the last record at or below an offset, -1 when it is
// not known.
func (o *Open) LeaderAt(offset int64) int32 { return o.epochs.seen(offset) }

// Len returns how many records are in hand.
func (o *Open) Len() int { return len(o.records) }

// Bytes is what they count.
func (o *Open) Bytes() int64 { return o.bytes }

// First is the offset that the next range begins at.
func (o *Open) First() int64 { return o.first }

// Next is the offset after the last record, or First before there is any.
func (o *Open) Next() int64 { return o.next }

// At returns a record by its place.
func (o *Open) At(i int) *Held { return &o.records[i] }

// Receipts returns when the first records were received that name events, so many at most.
func (o *Open) Receipts(most int) (received []int64) {
	for i := 0; i < len(o.records) && len(received) < most; i++ {
		if h := &o.records[i]; h.Named() {
			received = append(received, h.ReceivedAt)
		}
	}
	return received
}
