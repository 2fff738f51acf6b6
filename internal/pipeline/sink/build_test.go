package sink

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer/buffertest"
	"github.com/millrace/millrace/internal/pipeline/sink/dedup"
)

// aStream draws records in offset order: ids that come again, receipt times that
// mostly rise over hours, event times in two months, and some that cannot be
// decoded.
func aStream(t *rapid.T) []buffer.Record {
	n := rapid.IntRange(1, 120).Draw(t, "records")
	received := noon
	all := make([]buffer.Record, n)
	for i := range all {
		received += rapid.Int64Range(0, 10*time.Minute.Milliseconds()).Draw(t, "pause")
		skew := rapid.Int64Range(0, 5*time.Minute.Milliseconds()).Draw(t, "skew")
		at := noon + rapid.Int64Range(-1, 1).Draw(t, "day")*24*time.Hour.Milliseconds()
		all[i] = anEvent(fmt.Sprint("e", rapid.IntRange(0, 12).Draw(t, "id")), at, received-skew)
		all[i].Offset = int64(i)
		switch rapid.IntRange(0, 30).Draw(t, "spoil") {
		case 0:
			all[i].Value = []byte("{")
		case 1:
			all[i].BadHeaders = true
		case 2:
			all[i].Replay = true
		}
	}
	return all
}

// replay settles a stream cut into ranges of the drawn sizes, and returns what
// was stored and rejected.
func replay(t *rapid.T, stream []buffer.Record, label string) (stored []storedRow, dead []int64) {
	w, b := dedup.NewWindow(time.Hour, 1_000_000), &builder{}
	m := buffer.NewMemory(2)
	o, stream := buffer.NewOpen(0, -1), slices.Clone(stream)
	o.Append(buffertest.Pack(stream), stream, time.Time{}, m)
	for o.Len() > 0 {
		n := rapid.IntRange(1, o.Len()).Draw(t, label)
		r := &job{Range: o.Seal(n, o.At(n-1).Offset, m)}
		b.build(r, part, w, func() Block { return &memoryBlock{} })
		if b.reader.Rest() != 0 {
			t.Fatal("a builder keeps a batch of a range that is built")
		}
		for _, m := range r.blocks {
			for _, row := range m.block.(*memoryBlock).rows {
				if row.month != m.month {
					t.Fatalf("a row of %d in the block of %d", row.month, m.month)
				}
				stored = append(stored, row)
			}
		}
		for _, l := range r.letters {
			dead = append(dead, l.offset)
		}
		w.MoveOn(time.UnixMilli(noon).Add(1000 * time.Hour)) // a clock that no record is ahead of
	}
	slices.SortFunc(stored, func(a, b storedRow) int { return int(a.offset - b.offset) })
	return stored, dead
}

func TestAnyPartitionOfAStreamIntoRangesGivesTheSameTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		stream := aStream(t)
		rows, dead := replay(t, stream, "range")
		otherRows, otherDead := replay(t, stream, "other range")
		if diff := cmp.Diff(rows, otherRows, cmp.AllowUnexported(storedRow{})); diff != "" {
			t.Fatalf("stored rows (-one +other):\n%s", diff)
		}
		if diff := cmp.Diff(dead, otherDead); diff != "" {
			t.Fatalf("dead letters (-one +other):\n%s", diff)
		}
	})
}

// Against the rule itself, spelled out: an event is stored unless one of the same
// hash was seen within the horizon before it, stored or not.
func TestWhatIsStoredFollowsTheRule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		stream := aStream(t)
		var want []int64
		last := map[[16]byte]int32{}
		for i := range stream {
			r := &stream[i]
			if r.BadHeaders {
				continue
			}
			b := int32(r.ReceivedAt / (5 * time.Minute).Milliseconds())
			at, seen := last[r.Hash]
			last[r.Hash] = max(at, b)
			if seen && b-at <= 12 && !r.Replay || string(r.Value) == "{" {
				continue
			}
			want = append(want, r.Offset)
		}
		rows, _ := replay(t, stream, "range")
		got := make([]int64, 0, len(rows))
		for _, r := range rows {
			got = append(got, r.offset)
		}
		if diff := cmp.Diff(want, got,
			cmp.Transformer("empty", func(s []int64) string { return fmt.Sprint(s) })); diff != "" {
			t.Fatalf("offsets stored (-rule +got):\n%s", diff)
		}
	})
}

func TestMonthsEndWithUTC(t *testing.T) {
	t.Parallel()
	var c monthCache
	edge := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for _, tc := range []struct {
		millis int64
		want   int
	}{{edge - 1, 202603}, {edge, 202604}, {edge - 1, 202603}, {minTime, 200001}, {maxTime - 1, 214812}} {
		if got := c.of(tc.millis); got != tc.want {
			t.Errorf("of(%d) = %d, want %d", tc.millis, got, tc.want)
		}
	}
}
