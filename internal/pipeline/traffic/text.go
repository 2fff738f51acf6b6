package traffic

import (
	"strconv"
	"unsafe"

	"github.com/millrace/millrace/internal/contract/record"
)

// The names that a tracker's own events have, and what comes from the website
// itself.
var (
	nameView     = []byte("screen_view")
	nameExit     = []byte("page_exit")
	nameLink     = []byte("outgoing_link")
	kindInternal = []byte("internal")
)

// uuidShape is a UUIDv4 in which what is 0 stays so: 64 bits are random, which are
// enough, and what is stored of them compresses.
const uuidShape = "xxxxxxxx-xxxx-4000-8000-0000xxxx0000"

// uuid makes text shaped as a UUID behind a prefix.
func (s *Source) uuid(prefix string, n uint64) []byte {
	const digits = "0123456789abcdef"
	from := len(s.text)
	s.text = append(append(s.text, prefix...), uuidShape...)
	own := s.text[from+len(prefix):]
	for i := range own {
		if own[i] == 'x' {
			own[i] = digits[n&15]
			n >>= 4
		}
	}
	return s.since(from)
}

// number makes a name with a number.
func (s *Source) number(prefix string, n uint64) []byte {
	from := len(s.text)
	s.text = strconv.AppendUint(append(s.text, prefix...), n, 10)
	return s.since(from)
}

// since returns what was appended to the visit's text.
func (s *Source) since(from int) []byte { return s.text[from:len(s.text):len(s.text)] }

// set puts in a text of the tables, which nobody writes to.
func set(w *record.Web, t record.WebText, text string) { w.Texts[t] = bytesOf(text) }

// bytesOf returns the bytes of a text without copying it, for a reader.
func bytesOf(text string) []byte {
	return unsafe.Slice(unsafe.StringData(text), len(text)) //nolint:gosec // see above
}
