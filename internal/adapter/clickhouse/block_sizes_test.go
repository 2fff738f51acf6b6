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

// A block that becomes a large one grows once, as soon as it has a part of its rows, also
// when it was a small one before.
func TestABlockGetsTheRoomOfTheLargestOneOnceItHasAPartOfItsRows(t *testing.T) {
	t.Parallel()
	var s sizes
	events := someEvents(rand.New(rand.NewPCG(1, 2)), 500)
	b := newBlock(&Events, &s)
	whole := filledWith(newBlock(&Events, &s), events)
	s.note(whole)
	s.note(filledWith(newBlock(&Events, &s), events[:10])) // a smaller one says nothing
	if got := textRoom(newBlock(&Events, &s)); got != 0 {
		t.Errorf("a new block has room for %d bytes", got)
	}
	for _, b := range []*block{newBlock(&Events, &s), filledWith(b, events[:10])} {
		b.Reset() // what was noted since it was made is known now
		filledWith(b, events[:500/roomPart-1])
		if got, most := textRoom(b), textRoom(whole)*3/4; got > most {
			t.Errorf("before it has its part, there is room for %d bytes, want %d at most", got, most)
		}
		filledWith(b, events[500/roomPart-1:500/roomPart])
		before, rows := textRoom(b), cap(b.dicts[0].rows)
		filledWith(b, events[500/roomPart:])
		if after := textRoom(b); after != before || cap(b.dicts[0].rows) != rows || rows < 500 {
			t.Errorf("its room grew from %d to %d bytes, %d to %d rows", before, after, rows, cap(b.dicts[0].rows))
		}
	}
}

// The months of a range, and the pieces of a block, take what they hold, however large
// blocks were before.
func TestSmallBlocksTakeNoRoomOfALargeOne(t *testing.T) {
	t.Parallel()
	var s sizes
	events := someEvents(rand.New(rand.NewPCG(1, 2)), 2000)
	large := filledWith(newBlock(&Events, &s), events)
	s.note(large)
	room := 0
	const months = 40
	for i := range months {
		some := events[i*len(events)/months : (i+1)*len(events)/months]
		room += textRoom(filledWith(newBlock(&Events, &s), some))
		piece := newBlock(&Events, &s)
		large.CopyTo(piece, 0, 1)
		room += textRoom(piece)
	}
	if most := roomPart * textRoom(large); room > most {
		t.Errorf("%d blocks of a range have room for %d bytes, want %d at most", months, room, most)
	}
}

// What is noted while a block grows counts, and not what was when it was made.
func TestABlockThatGrewBesideALargerOneWaitsForItsPart(t *testing.T) {
	t.Parallel()
	var s sizes
	events := someEvents(rand.New(rand.NewPCG(1, 2)), 500)
	s.note(filledWith(newBlock(&Events, &s), events[:roomPart]))
	b := newBlock(&Events, &s)
	s.note(filledWith(newBlock(&Events, &s), events))
	filledWith(b, events[:1])
	if got := cap(b.dicts[0].rows); got > 100 || b.roomAt != 500/roomPart {
		t.Errorf("with one row there is room for %d, and for all with %d", got, b.roomAt)
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
