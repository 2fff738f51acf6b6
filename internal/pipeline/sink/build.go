package sink

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
	"github.com/millrace/millrace/internal/pipeline/sink/dedup"
)

// reasonErased stands for no dead letter: the record is left out.
const reasonErased deadletter.Reason = "erased"

var (
	errHeaders = fmt.Errorf("a required header is missing or malformed, or the record has more than %d headers",
		record.MaxHeaders)
	errTime     = errors.New("event time is before 2000 or after 2148")
	errRejected = errors.New("ClickHouse rejects the row")
)

// The times that event_date can hold and the edge accepts, in Unix milliseconds.
var (
	minTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	maxTime = time.Date(2149, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
)

// builder turns a sealed range into blocks. There are as many as inserts may run
// at once, so that their memory is bounded too.
type builder struct {
	reader  buffer.Reader
	decoder record.Decoder
	event   record.Event
	touched touched
	months  monthCache
}

// build decides what of the range is stored, and fills its blocks. newBlock
// returns an empty one. The window has seen the range afterwards: it is of no use any more if
// the range is not settled. A panic is returned as the reason to halt, with the offset
// of the record and without its content.
func (b *builder) build(j *job, p Partition, w *dedup.Window, newBlock func() Block) (err error) {
	at := j.First
	defer func() {
		if cause := recover(); cause != nil {
			*b = builder{}
			err = &haltError{HaltPanic, fmt.Errorf("building a block, at offset %d: %v\n%s", at, cause, debug.Stack())}
		}
	}()
	defer b.reader.Close()
	b.touched.reset()
	row := Row{Event: &b.event, Topic: []byte(p.Topic), Partition: p.Index}
	for i := range j.Records {
		rec := &j.Records[i]
		at = rec.Offset
		if err := b.reader.Open(j.Range, rec); err != nil {
			return unreadable(err)
		}
		reason, err := b.judge(p.Topic, rec, j, w)
		if reason == deadletter.ReasonRejected || reason == reasonErased && j.rejects(rec.Offset) {
			m := j.month(b.months.of(b.event.TimeMillis), newBlock)
			m.rejected = append(m.rejected, rec.Offset)
		}
		switch reason {
		case "":
		case reasonErased:
			j.erased++
			j.share(b.event.Owner, rec.ReceivedAt, ledger.Share{Erased: 1})
		default:
			j.letters = append(j.letters, letter{rec.Offset, reason, err})
		}
		if rec.Stored {
			row.Hash, row.Offset = rec.Hash, rec.Offset
			j.month(b.months.of(b.event.TimeMillis), newBlock).block.Append(&row)
			j.stored++
			b.touched.add(b.event.Owner, b.event.TimeMillis)
		}
	}
	j.touched = b.touched.all()
	return nil
}

// judge decides about one record: to be stored, a duplicate, a control record,
// erased, or the reason why it is a dead letter. What was erased is never one: it
// would be kept there.
func (b *builder) judge(topic string, rec *buffer.Held, j *job, w *dedup.Window) (deadletter.Reason, error) {
	switch {
	case rec.Control:
		j.control++
		return "", nil
	case rec.BadHeaders:
		return deadletter.ReasonHeaders, errHeaders
	case b.duplicate(rec, w):
		j.dups++
		j.share(b.decoder.Owner(b.reader.Value(rec)), rec.ReceivedAt, ledger.Share{Duplicates: 1})
		return "", nil
	}
	if err := b.decoder.DecodeEvent(b.reader.Value(rec), &b.event); err != nil {
		return deadletter.ReasonValue, fmt.Errorf("decoding the value: %w", err)
	}
	if j.tombstones.Load().Covers(b.event.Owner, b.event.ProfileID, b.event.AnonymousID, b.event.ReceivedAt) {
		return reasonErased, nil
	}
	if err := record.Fits(topic, &b.event); err != nil {
		return deadletter.ReasonValue, err
	}
	if b.event.TimeMillis < minTime || b.event.TimeMillis >= maxTime {
		return deadletter.ReasonTime, errTime
	}
	if j.rejects(rec.Offset) {
		return deadletter.ReasonRejected, errRejected
	}
	rec.Stored = true
	return "", nil
}

// duplicate judges a record by what the window has seen before it, and notes the
// observation: range and window are one, so where ranges are cut never changes what
// is a duplicate. A dead letter that is sent again is none, for its first observation
// was not stored.
func (b *builder) duplicate(rec *buffer.Held, w *dedup.Window) bool {
	return w.Duplicate(rec.Hash, rec.ReceivedAt) && !rec.Replay
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
