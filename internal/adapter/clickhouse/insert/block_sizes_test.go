package insert

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/native"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/platform/config"
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
		if c, ok := c.(*native.TextColumn); ok {
			bytes += c.Room()
		}
	}
	return bytes
}

// A block that becomes a large one grows once, as soon as it has a part of its rows, also
// when it was a small one before.
func TestABlockGetsTheRoomOfTheLargestOneOnceItHasAPartOfItsRows(t *testing.T) {
	t.Parallel()
	var s sizes
	events := clickhousetest.SomeEvents(rand.New(rand.NewPCG(1, 2)), 500)
	b := newBlock(&schema.Events, &s)
	whole := filledWith(newBlock(&schema.Events, &s), events)
	s.note(whole)
	s.note(filledWith(newBlock(&schema.Events, &s), events[:10])) // a smaller one says nothing
	if got := textRoom(newBlock(&schema.Events, &s)); got != 0 {
		t.Errorf("a new block has room for %d bytes", got)
	}
	for _, b := range []*block{newBlock(&schema.Events, &s), filledWith(b, events[:10])} {
		b.Reset() // what was noted since it was made is known now
		filledWith(b, events[:500/roomPart-1])
		if got, most := textRoom(b), textRoom(whole)*3/4; got > most {
			t.Errorf("before it has its part, there is room for %d bytes, want %d at most", got, most)
		}
		filledWith(b, events[500/roomPart-1:500/roomPart])
		before, rows := textRoom(b), b.dicts[0].Room()
		filledWith(b, events[500/roomPart:])
		if after := textRoom(b); after != before || b.dicts[0].Room() != rows || rows < 500 {
			t.Errorf("its room grew from %d to %d bytes, %d to %d rows", before, after, rows, b.dicts[0].Room())
		}
	}
}

// The months of a range, and the pieces of a block, take what they hold, however large
// blocks were before.
func TestSmallBlocksTakeNoRoomOfALargeOne(t *testing.T) {
	t.Parallel()
	var s sizes
	events := clickhousetest.SomeEvents(rand.New(rand.NewPCG(1, 2)), 2000)
	large := filledWith(newBlock(&schema.Events, &s), events)
	s.note(large)
	room := 0
	const months = 40
	for i := range months {
		some := events[i*len(events)/months : (i+1)*len(events)/months]
		room += textRoom(filledWith(newBlock(&schema.Events, &s), some))
		piece := newBlock(&schema.Events, &s)
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
	events := clickhousetest.SomeEvents(rand.New(rand.NewPCG(1, 2)), 500)
	s.note(filledWith(newBlock(&schema.Events, &s), events[:roomPart]))
	b := newBlock(&schema.Events, &s)
	s.note(filledWith(newBlock(&schema.Events, &s), events))
	filledWith(b, events[:1])
	if got := b.dicts[0].Room(); got > 100 || b.roomAt != 500/roomPart {
		t.Errorf("with one row there is room for %d, and for all with %d", got, b.roomAt)
	}
}

// encodedBytes is how many bytes a block is encoded as.
func encodedBytes(t *testing.T, b *block) int {
	t.Helper()
	input := b.input[:len(b.columns)]
	if b.webRows > 0 {
		b.padWeb()
		input = b.input
	}
	var buf proto.Buffer
	if err := (proto.Block{Columns: len(input), Rows: b.rows}).EncodeBlock(&buf, proto.Version, input); err != nil {
		t.Fatal(err)
	}
	return len(buf.Buf)
}

// checkSent compares what a block says that it is sent as with what it is encoded as: there
// is room for all of it, and for no more than the heads of columns may take.
func checkSent(t *testing.T, b *block) {
	t.Helper()
	said := b.sent()
	if got := encodedBytes(t, b); got > said || said > got+columnHead*len(b.input) {
		t.Errorf("%d rows, %d of the web: %d bytes are sent, and %d are said", b.rows, b.webRows, got, said)
	}
}

// The connection's buffer gets the room that a block needs, and not much more.
func TestABlockKnowsHowManyBytesAreSent(t *testing.T) {
	t.Parallel()
	events := clickhousetest.SomeEvents(rand.New(rand.NewPCG(1, 2)), 5000)
	b := newBlock(&schema.Events, &sizes{})
	for _, n := range []int{1, 2, 1000, 5000} {
		checkSent(t, filledWith(b, events[:n]))
		b.Reset()
	}
	for _, e := range events {
		e.Web = nil
	}
	checkSent(t, filledWith(b, events))
	for _, names := range []int{256, 257, 65536, 65537} { // indexes grow with the dictionary
		b.Reset()
		for n := range names {
			name := bytes.Repeat([]byte{'n'}, n%300)
			e := clickhousetest.AnEvent("", func(e *record.Event) { e.Name = fmt.Append(name, n) })
			b.Append(&sink.Row{Event: e, Topic: []byte("t")})
		}
		checkSent(t, b)
	}
}

// pageView is an event as browsers send most, of 460 bytes.
func pageView(n int) *record.Event {
	e := clickhousetest.AnEvent(fmt.Sprintf("018f5b3a-7c1e-7000-8000-%012d", n), func(e *record.Event) {
		e.Name, e.Path = []byte("screen_view"), fmt.Appendf(nil, "/products/%d", n%1000)
		e.AnonymousID, e.SessionID = fmt.Appendf(nil, "%032d", n%5000), fmt.Appendf(nil, "%032d", n%9000)
		e.Web = new(record.Web)
	})
	for text, value := range map[record.WebText]string{
		record.Host: "shop.example", record.Title: "Product 1", record.Browser: "Firefox", record.OS: "Linux",
		record.Device:  "desktop",
		record.Country: "DE", record.Language: "de-DE", record.ReferrerKind: "direct",
	} {
		e.Web.Texts[text] = []byte(value)
	}
	e.Web.Set(record.LoadTime, 812)
	return e
}

// Of ordinary events two blocks of the size that ranges are sealed at are sent at the same
// time, whose columns are mostly empty texts, dictionaries of few values, and small numbers.
func TestTwoOrdinaryBlocksAreSentAtOnce(t *testing.T) {
	t.Parallel()
	if n := len(record.AppendEvent(nil, pageView(1))); n < 440 || n > 480 {
		t.Fatalf("an event of %d bytes is not what this is about", n)
	}
	i := NewInserter(config.ClickHouse{}, "")
	b := i.NewBlock(record.TopicEvents).(*block)
	for n := range config.Default().Sink.MaxRows {
		e := pageView(n)
		b.Append(&sink.Row{Event: e, Hash: record.HashOf(e.Owner, e.ID), Topic: []byte(record.TopicEvents), Offset: int64(n)})
	}
	checkSent(t, b)
	synctest.Test(t, func(t *testing.T) {
		for range 2 {
			if _, ok := reserved(t, i, b); !ok {
				t.Errorf("a block of %d bytes waits", b.sent())
			}
		}
	})
}
