package clickhouse

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// filledWith appends events to a block.
func filledWith(b *block, events []*record.Event) *block {
	for i, e := range events {
		b.Append(&sink.Row{Event: e, Topic: []byte("t"), Offset: int64(i)})
	}
	return b
}

// textRoom is how many bytes the texts of a block can take before they are moved.
func textRoom(b *block) (bytes int) {
	for _, c := range slices.Concat(b.columns, b.web) {
		if c, ok := c.(*textColumn); ok {
			bytes += cap(c.sent)
		}
	}
	return bytes
}

func TestANewBlockHasRoomForWhatTheLargestOneHad(t *testing.T) {
	t.Parallel()
	var s sizes
	events := someEvents(rand.New(rand.NewPCG(1, 2)), 500)
	if got := textRoom(newBlock(&Events, &s)); got != 0 {
		t.Errorf("the first block has room for %d bytes", got)
	}
	s.note(filledWith(newBlock(&Events, &s), events))
	s.note(filledWith(newBlock(&Events, &s), events[:10])) // a smaller one says nothing
	b := newBlock(&Events, &s)
	before := textRoom(b)
	if after := textRoom(filledWith(b, events)); before == 0 || after != before {
		t.Errorf("the room of a new block grew from %d to %d bytes", before, after)
	}
}

// The connection's buffer gets the room that a block needs, and not much more.
func TestABlockKnowsHowManyBytesAreSent(t *testing.T) {
	t.Parallel()
	events := someEvents(rand.New(rand.NewPCG(1, 2)), 5000)
	for _, e := range events {
		e.Web = nil
	}
	b := filledWith(newBlock(&Events, &sizes{}), events)
	var buf proto.Buffer
	input := b.input[:len(b.columns)]
	if err := (proto.Block{Columns: len(input), Rows: b.rows}).EncodeBlock(&buf, proto.Version, input); err != nil {
		t.Fatal(err)
	}
	if got, most := len(buf.Buf), b.sent(); got > most || most > 3*got {
		t.Errorf("%d bytes are sent, and there is room for %d", got, most)
	}
}
