package sink

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/privacy/tombstone"
)

// open collects the records of a partition that are not frozen yet.
type open struct {
	records []held
	batches batches  // of the records
	traced  []traced // sampled requests of the records, the first few
	bytes   int64
	since   time.Time // when the first one came
	first   int64     // the offset that the next range begins at
	next    int64     // the offset after the last record; first before any
	epochs  epochs
}

// append takes records in offset order and returns what they count against the
// budget. What is below next was taken before.
func (o *open) append(b *Batch, now time.Time, m *memory) (bytes int64) {
	skip, _ := slices.BinarySearchFunc(b.Records, o.next, func(r Record, next int64) int {
		return cmp.Compare(r.Offset, next)
	})
	records := b.Records[skip:]
	if len(records) == 0 {
		return 0
	}
	if len(o.records) == 0 {
		o.since = now
		if o.records == nil {
			o.records = m.held.get()
		}
	}
	var batch uint32
	o.batches, batch = o.batches.put(b.Packed)
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
func (o *open) trace(r *Record) {
	if !sampled(r.Traceparent) || len(o.traced) == maxTraced {
		return
	}
	if n := len(o.traced); n == 0 || o.traced[n-1].parent != string(r.Traceparent) {
		o.traced = append(o.traced, traced{r.Offset, string(r.Traceparent)})
	}
}

// freeze cuts off the next range: the first n records, up to the offset last.
// Offsets before and between them that have no record belong to it, so that
// ranges follow each other without a gap. Of what is left, which is seldom more than one
// delivery, the records are copied.
func (o *open) freeze(n int, last int64, m *memory) *frozen {
	r := &frozen{Span: ledger.Span{First: o.first, Last: last}, epochBefore: o.epochs.before}
	if n > 0 && o.records[n-1].offset == last {
		r.epochOfLast = o.epochs.upTo(last)
	} else {
		r.epochOfLast = o.epochs.lostAt(last)
	}
	o.first = last + 1
	if n == 0 {
		return r
	}
	r.records, r.batches = o.records[:n], o.batches
	for i := range r.records {
		r.bytes += r.records[i].bytes()
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
	r.batches, _ = r.batches.cut(r.records[n-1].value.batch)
	o.records = append(m.held.get(), rest...)
	for i := range o.records {
		o.records[i].value.batch -= begin
	}
	return r
}

// drop lets go of what is in hand; the range begins and goes on where it did.
func (o *open) drop(m *memory) {
	m.held.put(o.records)
	*o = open{first: o.first, next: o.next, epochs: o.epochs.forgotten()}
}

// upTo returns how many records, from the first, have offsets up to last.
func (o *open) upTo(last int64) int {
	n, _ := slices.BinarySearchFunc(o.records, last+1, func(h held, offset int64) int { return cmp.Compare(h.offset, offset) })
	return n
}

// holds reports whether the record at an offset is in hand.
func (o *open) holds(offset int64) bool {
	n := o.upTo(offset)
	return n > 0 && o.records[n-1].offset == offset
}

// frozen is a range whose offsets never change again, and since its build
// neither does what is stored of it.
type frozen struct {
	ledger.Span

	// epochBefore and epochOfLast are the leader epochs of the record before the range and
	// of its last one, -1 when they are not known.
	epochBefore, epochOfLast int32
	// planLeader is what the plan names as that of its last record: as it was planned, also
	// where the record is gone since. -1 is not known.
	planLeader int32

	epoch   int64 // of its tokens
	planned bool  // its plan was found when the partition was taken over
	floor   int32
	refused []int64 // offsets that the server refuses, in order
	// tombstones are those that the range was built with, or that change nothing of
	// it. Those who insert replace them while those who send its dead letters ask them.
	tombstones atomic.Pointer[tombstone.Set]

	records []held
	batches batches // of the records
	traced  []traced
	bytes   int64
	blocks  []monthBlock
	letters []letter // found by the build
	stored  int
	dups    int
	dead    int // all dead letters, also those that the server made
	erased  int // records of what was erased
	control int // records that only the broker needs
	touched []ledger.Touched
	shares  shares
}

// gaps returns the offsets of the range that no record was delivered for.
func (r *frozen) gaps() (gaps []ledger.Span) {
	next := r.First
	for i := range r.records {
		if at := r.records[i].offset; at > next {
			gaps = append(gaps, ledger.Span{First: next, Last: at - 1})
		}
		next = r.records[i].offset + 1
	}
	if next <= r.Last {
		gaps = append(gaps, ledger.Span{First: next, Last: r.Last})
	}
	return gaps
}

// entry is what the ledger keeps of the range.
func (r *frozen) entry(p Partition, topicID [16]byte) *ledger.Entry {
	e := &ledger.Entry{
		Topic: p.Topic, TopicID: topicID, Partition: p.Index, Epoch: r.epoch, Span: r.Span, Kind: ledger.EntryRange,
		Stored: int64(r.stored), Duplicates: int64(r.dups), DeadLetters: int64(r.dead), Erased: int64(r.erased),
		Skipped: r.Len() - int64(len(r.records)-r.control), Touched: r.touched, Shares: r.shares.list(),
	}
	for i := range r.records {
		at := r.records[i].receivedAt
		if !r.records[i].hasHash() {
			continue
		}
		if e.ReceivedFrom == 0 || at < e.ReceivedFrom {
			e.ReceivedFrom = at
		}
		e.ReceivedTo = max(e.ReceivedTo, at)
	}
	return e
}

// original returns the record at an offset of the range, as the log has it. Those of one
// batch are asked for by ascending offsets of a reader.
func (r *frozen) original(from *reader, offset int64) (Original, error) {
	i, ok := slices.BinarySearchFunc(r.records, offset, func(h held, offset int64) int {
		return cmp.Compare(h.offset, offset)
	})
	if !ok {
		return Original{}, fmt.Errorf("no record at %d is in hand", offset)
	}
	if err := from.open(r.batches, &r.records[i]); err != nil {
		return Original{}, err
	}
	return from.original(&r.records[i])
}

// monthBlock is what a range brings for one month.
type monthBlock struct {
	month   int // YYYYMM
	block   Block
	refused []int64 // of the range's refused offsets those of this month, in order
}
