package insert

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// wholeRow is every column of a row, as text.
func wholeRow() string {
	values := make([]string, len(schema.Events.Columns))
	for i, c := range schema.Events.Columns {
		values[i] = "toString(" + c.Name + ")"
	}
	return "concat(" + strings.Join(values, ", '|', ") + ")"
}

func TestACopiedBlockStoresTheSameRows(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	clickhousetest.Run(t, cfg, "CREATE TABLE copied AS events")
	i, into := newInserter(t, cfg, ""), newInserter(t, cfg, "copied")
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 20 {
		b := clickhousetest.BlockOf(i, clickhousetest.SomeEvents(r, 1+r.IntN(600))...)
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
	if diff := cmp.Diff(clickhousetest.Column(t, cfg, wholeRow(), "events"),
		clickhousetest.Column(t, cfg, wholeRow(), "copied")); diff != "" {
		t.Errorf("rows (-whole +copied):\n%s", diff)
	}
}

func TestABlockKnowsTheOffsetsOfItsRows(t *testing.T) {
	t.Parallel()
	b, part := newBlock(&schema.Events, &sizes{}), newBlock(&schema.Events, &sizes{})
	for _, offset := range []int64{7, 9, 1 << 40} {
		b.Append(&sink.Row{Event: clickhousetest.AnEvent("a"), Topic: []byte("t"), Offset: offset})
	}
	b.CopyTo(part, 1, 3)
	if got := []int64{b.Offset(0), b.Offset(2), part.Offset(0), part.Offset(1)}; !cmp.Equal(got,
		[]int64{7, 1 << 40, 9, 1 << 40}) {
		t.Errorf("offsets %d", got)
	}
}
