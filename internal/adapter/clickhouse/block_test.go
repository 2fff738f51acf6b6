package clickhouse

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// someEvents returns events with few and many values in each column, on one day
// of March.
func someEvents(r *rand.Rand, n int) []*record.Event {
	events := make([]*record.Event, n)
	pick := func(prefix string, of int) []byte {
		if k := r.IntN(of + 1); k > 0 {
			return fmt.Append(nil, prefix, k)
		}
		return nil
	}
	for i := range events {
		events[i] = anEvent(fmt.Sprint("e", r.Uint64()), func(e *record.Event) {
			e.Owner = fmt.Append(nil, "web_", r.IntN(3))
			e.Name, e.Namespace, e.Source = fmt.Append(nil, "n", r.IntN(300)), pick("ns", 2), pick("s", 2)
			e.AnonymousID, e.SessionID, e.ProfileID = pick("v", 20), pick("s", 30), pick("p", 10)
			e.Path, e.Properties = pick("/", 50), pick(`{"x":`, 9)
			e.TimeMillis += r.Int64N(3_600_000)
			e.ReceivedAt += r.Int64N(10_000)
			e.HasRaw, e.RawMillis = r.IntN(2) == 0, noon+r.Int64N(1000)
			if r.IntN(4) == 0 {
				e.Web = new(record.Web)
				e.Web.Texts[record.Browser], e.Web.Texts[record.Title] = pick("b", 3), pick("title ", 100)
				e.Web.Set(record.WebNumber(r.IntN(record.NumWebNumbers)), float64(r.IntN(5)))
			}
		})
	}
	return events
}

// wholeRow is every column of a row, as text.
func wholeRow() string {
	values := make([]string, len(Events.Columns))
	for i, c := range Events.Columns {
		values[i] = "toString(" + c.Name + ")"
	}
	return "concat(" + strings.Join(values, ", '|', ") + ")"
}

func TestACopiedBlockStoresTheSameRows(t *testing.T) {
	t.Parallel()
	cfg := migrated(t)
	run(t, cfg, "CREATE TABLE copied AS events")
	i, into := newInserter(t, cfg, ""), newInserter(t, cfg, "copied")
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 20 {
		b := blockOf(i, someEvents(r, 1+r.IntN(600))...)
		whole := fmt.Sprint("1:", round)
		// Every row goes into one of the pieces, one of which is used twice.
		cut, again := r.IntN(b.Rows()+1), i.NewBlock(record.TopicEvents)
		b.(*block).CopyTo(again, 0, cut)
		if err := into.Insert(t.Context(), again, whole+"a"); err != nil {
			t.Fatal(err)
		}
		again.Reset()
		middle := cut + r.IntN(b.Rows()-cut+1)
		b.(*block).CopyTo(again, cut, middle)
		b.(*block).CopyTo(again, middle, b.Rows())
		if got := again.Rows(); got != b.Rows()-cut {
			t.Fatalf("round %d: %d rows were copied, want %d", round, got, b.Rows()-cut)
		}
		if err := into.Insert(t.Context(), again, whole+"b"); err != nil {
			t.Fatal(err)
		}
		if err := i.Insert(t.Context(), b, whole); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(column(t, cfg, wholeRow(), "events"), column(t, cfg, wholeRow(), "copied")); diff != "" {
		t.Errorf("rows (-whole +copied):\n%s", diff)
	}
}

func TestABlockKnowsTheOffsetsOfItsRows(t *testing.T) {
	t.Parallel()
	b, part := newBlock(&Events, &sizes{}), newBlock(&Events, &sizes{})
	for _, offset := range []int64{7, 9, 1 << 40} {
		b.Append(&sink.Row{Event: anEvent("a"), Topic: []byte("t"), Offset: offset})
	}
	b.CopyTo(part, 1, 3)
	if got := []int64{b.Offset(0), b.Offset(2), part.Offset(0), part.Offset(1)}; !cmp.Equal(got, []int64{7, 1 << 40, 9, 1 << 40}) {
		t.Errorf("offsets %d", got)
	}
}
