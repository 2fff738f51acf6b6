package insert

import (
	"slices"
	"sync"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse/native"
)

// sizes are how large the largest block of a table was that was inserted. One that has a
// part of its rows gets room for as much at once: to grow there step by step copies it
// several times over, into memory that the kernel has to make. Before that it grows by what
// it holds: of a range's months, and of pieces and probes, most stay small. It is safe for
// concurrent use.
type sizes struct {
	mu   sync.Mutex
	rows int
	text []int // bytes of each column, those of the web last
}

// note is told of a block that is whole.
func (s *sizes) note(b *block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.rows <= s.rows {
		return
	}
	s.rows, s.text = b.rows, s.text[:0]
	for _, c := range b.columns {
		s.text = append(s.text, c.Bytes())
	}
	for _, c := range b.web {
		s.text = append(s.text, c.Bytes())
	}
}

// roomPart is the part of the largest block's rows with which a block gets its room, so
// that all blocks of a range have room for so many times its rows at most.
const roomPart = 4

// Reserve makes room in a block that has its part of the rows, else it notes with how many
// it is to be called again. Columns of the web grow when a row has any.
func (s *sizes) Reserve(b *block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.roomAt = (s.rows + roomPart - 1) / roomPart
	if s.rows == 0 || b.rows < b.roomAt {
		return
	}
	for i, c := range b.columns {
		c.Reserve(s.rows-b.rows, max(0, s.text[i]-c.Bytes()))
	}
	for i, c := range b.web {
		if text := s.text[len(b.columns)+i]; text > c.Bytes() {
			c.Reserve(0, text-c.Bytes())
		}
	}
}

// leading is the first column of a block. The connection's buffer, which all columns are
// appended to, grows once before it and not step by step.
type leading struct {
	*native.DictColumn

	block *block
}

// EncodeColumn implements proto.ColInput.
func (c leading) EncodeColumn(b *proto.Buffer) {
	b.Buf = slices.Grow(b.Buf, c.block.sent())
	c.DictColumn.EncodeColumn(b)
}

// columnHead is what is sent of a column before its values, at most: its name, its type, and
// what is said of a dictionary.
const columnHead = 128

// sent is how many bytes the block is sent as, at most: those of the values, and heads. It
// makes the web's columns as long as the others, as they are sent.
func (b *block) sent() (bytes int) {
	for _, c := range b.columns {
		bytes += columnHead + c.Encoded()
	}
	if b.webRows == 0 {
		return bytes
	}
	b.padWeb()
	for _, c := range b.web {
		bytes += columnHead + c.Encoded()
	}
	return bytes
}
