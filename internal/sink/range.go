package sink

import (
	"cmp"
	"slices"
	"time"
)

// open collects the records of a partition that are not frozen yet.
type open struct {
	records []Record
	bytes   int64
	since   time.Time // when the first one came
	first   int64     // the offset that the next range begins at
	next    int64     // the offset after the last record; first before any
}

// append takes records in offset order and returns what they count against the
// budget. What is below next was taken before. fresh returns an empty slice.
func (o *open) append(records []Record, now time.Time, fresh func() []Record) (bytes int64) {
	skip, _ := slices.BinarySearchFunc(records, o.next, func(r Record, next int64) int { return cmp.Compare(r.Offset, next) })
	records = records[skip:]
	if len(records) == 0 {
		return 0
	}
	if len(o.records) == 0 {
		o.since = now
		if o.records == nil {
			o.records = fresh()
		}
	}
	for i := range records {
		bytes += recordBytes(&records[i])
	}
	o.records = append(o.records, records...)
	o.bytes += bytes
	o.next = records[len(records)-1].Offset + 1
	return bytes
}

// freeze cuts off the next range: the first n records, up to the offset last.
// Offsets before and between them that have no record belong to it, so that
// ranges follow each other without a gap.
func (o *open) freeze(n int, last int64, fresh func() []Record) *frozen {
	r := &frozen{Span: Span{o.first, last}, records: o.records[:n]}
	for i := range r.records {
		r.bytes += recordBytes(&r.records[i])
	}
	var rest []Record
	if n < len(o.records) {
		rest = append(fresh(), o.records[n:]...)
		clear(o.records[n:])
	}
	o.records, o.bytes, o.first = rest, o.bytes-r.bytes, last+1
	return r
}

// upTo returns how many records, from the first, have offsets up to last.
func (o *open) upTo(last int64) int {
	n, _ := slices.BinarySearchFunc(o.records, last+1, func(r Record, offset int64) int { return cmp.Compare(r.Offset, offset) })
	return n
}

// recordBytes is what a record in hand counts against the budget: its value, and
// what is kept around it.
func recordBytes(r *Record) int64 { return int64(len(r.Value)) + recordOverhead }

const (
	recordOverhead  = 512 // the Record itself, its source's form, key and headers
	settledOverhead = 128 // of a record whose block is built: the Record and its numbers in the block
)

// frozen is a range whose offsets never change again, and since its build
// neither does what is stored of it.
type frozen struct {
	Span

	epoch   int64
	planned bool // its plan was found when the partition was taken over
	floor   int32
	refused []int64 // offsets that the server refuses, in order

	records []Record
	bytes   int64
	blocks  []monthBlock
	letters []DeadLetter // found by the build
	stored  int
	dups    int
	dead    int // all dead letters, also those that the server made
	control int // records that only the broker needs
	touched []Touched
}

// gaps returns the offsets of the range that no record was delivered for.
func (r *frozen) gaps() (gaps []Span) {
	next := r.First
	for i := range r.records {
		if at := r.records[i].Offset; at > next {
			gaps = append(gaps, Span{next, at - 1})
		}
		next = r.records[i].Offset + 1
	}
	if next <= r.Last {
		gaps = append(gaps, Span{next, r.Last})
	}
	return gaps
}

// entry is what the ledger keeps of the range.
func (r *frozen) entry(p Partition, topicID [16]byte) *Entry {
	e := &Entry{
		Topic: p.Topic, TopicID: topicID, Partition: p.Index, Epoch: r.epoch, Span: r.Span, Kind: EntryRange,
		Stored: int64(r.stored), Duplicates: int64(r.dups), DeadLetters: int64(r.dead),
		Skipped: r.Len() - int64(len(r.records)-r.control), Touched: r.touched,
	}
	for i := range r.records {
		at := r.records[i].ReceivedAt
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

// shrink lets go of the records as they were read, once the blocks are built:
// what is stored of a value takes its place, and no more room than it. It returns
// what the range counts less against the budget. Dead letters keep theirs.
func (r *frozen) shrink() (freed int64) {
	for i := range r.records {
		if rec := &r.records[i]; rec.stored {
			freed += recordOverhead - settledOverhead
			rec.Value, rec.Original, rec.Traceparent = nil, nil, nil
		}
	}
	r.bytes -= freed
	return freed
}

// monthBlock is what a range brings for one month.
type monthBlock struct {
	month   int // YYYYMM
	block   Block
	refused []int64 // of the range's refused offsets those of this month, in order
}
