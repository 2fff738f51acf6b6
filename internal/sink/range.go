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
	next    int64     // the offset after the last one; 0 before any
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

// freeze cuts the next range off, up to the gates for size. It is called only
// when there are records.
func (o *open) freeze(g gates, fresh func() []Record) *frozen {
	n, bytes := g.cut(o.records)
	r := &frozen{span: span{o.records[0].Offset, o.records[n-1].Offset}, records: o.records[:n], bytes: bytes}
	var rest []Record
	if n < len(o.records) {
		rest = append(fresh(), o.records[n:]...)
		clear(o.records[n:])
	}
	o.records, o.bytes = rest, o.bytes-bytes
	return r
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
	span

	records []Record
	bytes   int64
	blocks  []monthBlock
	letters []DeadLetter
	dups    int
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
	month int // YYYYMM
	block Block
}
