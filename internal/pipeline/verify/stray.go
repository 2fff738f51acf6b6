package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/millrace/millrace/internal/contract/record"
)

const (
	// clockSlack is how far the clocks of edges may be apart.
	clockSlack = 10 * 60 * 1000
	// maxStrays is how many rows are looked at one by one.
	maxStrays = 10_000
)

var errStrays = errors.New("too many rows name offsets that were not read: verify a shorter period")

// strays judges the rows that no slice accounts for, table by table.
func (v *verifier) strays(ctx context.Context) error {
	var tables []string
	for _, l := range v.o.Pipelines {
		if table := v.base.Table(l.Topic); !slices.Contains(tables, table) {
			tables = append(tables, table)
		}
	}
	for _, table := range tables {
		if err := v.straysOf(ctx, table); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) straysOf(ctx context.Context, table string) error {
	q := StrayQuery{Table: table, Since: v.o.Since.UnixMilli(), Until: v.o.Until.UnixMilli(), Common: v.common(table)}
	for _, l := range v.o.Pipelines {
		if v.base.Table(l.Topic) == table {
			q.Topics = append(q.Topics, l.Topic)
		}
	}
	for _, topic := range v.o.Known {
		if v.base.Table(topic) == table {
			q.Known = append(q.Known, topic)
		}
	}
	for i := range v.scanned {
		if r := v.scanned[i].Range; slices.Contains(q.Topics, r.Topic) {
			q.Ranges = append(q.Ranges, r)
		}
	}
	var rows []Row
	var failed error
	err := v.base.Strays(ctx, &q, func(row *Row) {
		ours := slices.Contains(q.Topics, row.Topic)
		if failed != nil || len(rows) > maxStrays || ours && v.lookedAt(row) {
			return
		}
		if !ours {
			rows = append(rows, *row)
			return
		}
		if flying, err := v.underWay(ctx, row); err != nil {
			failed = err
		} else if !flying {
			rows = append(rows, *row)
		}
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	if len(rows) > maxStrays {
		return errStrays
	}
	visible, err := v.base.Visible(ctx, table, rows)
	if err != nil {
		return err
	}
	for i := range rows {
		if !visible[i] {
			continue
		}
		why, err := v.stray(ctx, &q, &rows[i])
		if err != nil {
			return err
		}
		if why != "" {
			v.unexpected(&rows[i], why)
		}
	}
	return nil
}

// common returns the days that every slice of a table has looked at.
func (v *verifier) common(table string) []int32 {
	var days []int32
	first := true
	for i := range v.scanned {
		if v.base.Table(v.scanned[i].Topic) != table {
			continue
		}
		for _, s := range v.scanned[i].slices {
			if first {
				days, first = slices.Clone(s.days), false
				continue
			}
			days = slices.DeleteFunc(days, func(d int32) bool { return !slices.Contains(s.days, d) })
		}
	}
	return days
}

func (v *verifier) scan(row *Row) *scanned {
	i := slices.IndexFunc(v.scanned, func(s scanned) bool { return s.Topic == row.Topic && s.Partition == row.Partition })
	if i < 0 {
		return nil
	}
	return &v.scanned[i]
}

// lookedAt reports whether a slice has judged the row.
func (v *verifier) lookedAt(row *Row) bool {
	s := v.scan(row)
	if s == nil || row.Offset < s.From || row.Offset >= s.To {
		return false
	}
	i := slices.IndexFunc(s.slices, func(each sliced) bool { return row.Offset < each.to })
	return slices.Contains(s.slices[i].days, row.Day)
}

// underWay reports whether a row says that it comes from a record which was not
// settled when this began, and which the log holds. There may be many of them, and
// they are for another time.
func (v *verifier) underWay(ctx context.Context, row *Row) (bool, error) {
	s := v.scan(row)
	if s == nil || row.Offset < s.settled {
		return false, nil
	}
	if row.Offset >= s.end {
		_, bounds, err := v.topic.Describe(ctx, row.Topic)
		if err != nil {
			return false, err
		}
		s.end = bounds[row.Partition].End
	}
	return row.Offset < s.end, nil
}

// stray returns why a row is not to be expected, or nothing.
func (v *verifier) stray(ctx context.Context, q *StrayQuery, row *Row) (why string, err error) {
	s := v.scan(row)
	switch {
	case !slices.Contains(q.Known, row.Topic):
		return fmt.Sprintf("%q is not a topic of this table", row.Topic), nil
	case s == nil:
		return "the topic has no partition with this number", nil
	case row.Offset >= s.From && row.Offset < s.To:
		return "the record at this position is another event", nil
	case row.Offset < s.start:
		// Its record is gone. Those are older than the ones that are there.
		if s.received > 0 && row.Received > s.received+clockSlack {
			return "its receive time is after that of later records in its partition", nil
		}
		return "", nil
	case row.Offset >= s.end:
		return "its partition ends before this offset", nil
	}
	why = "the record at this position is another event"
	var decoder record.Decoder
	var e record.Event
	err = v.topic.Records(ctx, row.Topic, row.Partition, row.Offset, row.Offset+1, func(r *Record) error {
		if decoder.DecodeEvent(r.Value, &e) == nil &&
			fingerprint(string(e.Owner), record.Day(e.TimeMillis), e.Name, eventKey(r.Hash)) == fingerprint(row.Owner, row.Day,
				[]byte(row.Name), row.EventKey) {
			why = ""
		}
		return nil
	})
	return why, err
}
