package insert

import (
	"errors"
	"testing"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/native"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// broken is a column that panics at one step.
type broken struct {
	native.Column

	step string
}

func (c *broken) at(step string) {
	if c.step == step {
		panic("a mistake") //nolint:forbidigo // what the test is about
	}
}

func (c *broken) Prepare() error {
	c.at("prepare")
	return nil
}

func (c *broken) EncodeState(*proto.Buffer) { c.at("state") }

func (c *broken) EncodeColumn(b *proto.Buffer) {
	c.at("column")
	c.Column.EncodeColumn(b)
}

// The client encodes in a goroutine that nobody can catch anything of: without a guard this
// test ends the process. Whatever step of whatever column it is, nothing is stored, and the
// next block is.
func TestAPanicWhileABlockIsEncodedIsAnError(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	i := newInserter(t, cfg, "")
	last := len(newBlock(&schema.Events, &sizes{}).columns) - 1
	for _, c := range []struct {
		step   string
		column int
	}{{"prepare", 1}, {"state", 1}, {"column", 0}, {"column", last}} {
		b := clickhousetest.BlockOf(i, clickhousetest.AnEvent("a"), clickhousetest.AnEvent("b")).(*block)
		in := b.input[c.column].Data.(*guarded)
		in.Column = &broken{in.Column, c.step}
		if err := i.Insert(t.Context(), b, "t"); !errors.Is(err, sink.ErrPanic) {
			t.Errorf("a panic at %s of column %d: %v", c.step, c.column, err)
		}
		if err := i.Probe(t.Context(), b); !errors.Is(err, sink.ErrPanic) {
			t.Errorf("a panic at %s of column %d, on the clone: %v", c.step, c.column, err)
		}
	}
	if n := len(clickhousetest.Column(t, cfg, "event_id", "events")); n != 0 {
		t.Errorf("%d rows are stored of blocks that could not be encoded", n)
	}
	clickhousetest.Insert(t, i, "t", clickhousetest.AnEvent("a"), clickhousetest.AnEvent("b"))
	if n := len(clickhousetest.Column(t, cfg, "event_id", "events")); n != 2 {
		t.Errorf("%d rows are stored afterwards, want 2", n)
	}
}
