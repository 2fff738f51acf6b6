package sink

import (
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/record"
)

var (
	errHeaders = errors.New("a required header is missing or malformed")
	errTime    = errors.New("event time is before 2000 or after 2148")
)

// The times that event_date can hold and the edge accepts, in Unix milliseconds.
var (
	minTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	maxTime = time.Date(2149, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
)

// builder turns a frozen range into blocks. There are as many as inserts may run
// at once, so that their memory is bounded too.
type builder struct {
	decoder record.Decoder
	event   record.Event
	seen    hashset // what the range itself has stored so far
	months  monthCache
}

// build decides what of the range is stored, and fills its blocks. newBlock
// returns an empty one.
func (b *builder) build(r *frozen, p Partition, w *Window, newBlock func() Block) {
	b.seen.reset()
	row := Row{Event: &b.event, Topic: []byte(p.Topic), Partition: p.Index}
	for i := range r.records {
		rec := &r.records[i]
		if rec.BadHeaders {
			r.refuse(p, rec, ReasonHeaders, errHeaders)
			continue
		}
		if b.duplicate(rec, w) {
			r.dups++
			continue
		}
		if err := b.decoder.DecodeEvent(rec.Value, &b.event); err != nil {
			r.refuse(p, rec, ReasonValue, fmt.Errorf("decoding the value: %w", err))
			continue
		}
		if b.event.TimeMillis < minTime || b.event.TimeMillis >= maxTime {
			r.refuse(p, rec, ReasonTime, errTime)
			continue
		}
		// Only what is stored makes a later record a duplicate: a dead letter does
		// not stand in the way of its own replay.
		b.seen.put(rec.Hash, bucketOf(rec.ReceivedAt))
		rec.stored = true
		row.Hash, row.Offset = rec.Hash, rec.Offset
		r.block(b.months.of(b.event.TimeMillis), newBlock).Append(&row)
	}
}

// duplicate judges a record by the range and the window as if they were one: a
// range never changes what is a duplicate.
func (b *builder) duplicate(rec *Record, w *Window) bool {
	if stored, ok := b.seen.find(rec.Hash); ok {
		return w.within(stored, bucketOf(rec.ReceivedAt))
	}
	return w.Has(rec.Hash, rec.ReceivedAt)
}

func (r *frozen) refuse(p Partition, rec *Record, why Reason, err error) {
	r.letters = append(r.letters, DeadLetter{Partition: p, Record: *rec, Reason: why, Err: err})
}

// block returns the block of a month; there is nearly always one only.
func (r *frozen) block(month int, newBlock func() Block) Block {
	for i := range r.blocks {
		if r.blocks[i].month == month {
			return r.blocks[i].block
		}
	}
	r.blocks = append(r.blocks, monthBlock{month, newBlock()})
	return r.blocks[len(r.blocks)-1].block
}

func (r *frozen) rows() int {
	n := 0
	for i := range r.blocks {
		n += r.blocks[i].block.Rows()
	}
	return n
}

// monthCache knows the last month asked for: the calendar is not consulted for
// every row.
type monthCache struct {
	from, to int64 // Unix milliseconds
	month    int
}

// of returns the month of a time in UTC as YYYYMM.
func (c *monthCache) of(millis int64) int {
	if millis < c.from || millis >= c.to {
		y, m, _ := time.UnixMilli(millis).UTC().Date()
		c.from = time.Date(y, m, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
		c.to = time.Date(y, m+1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
		c.month = y*100 + int(m)
	}
	return c.month
}
