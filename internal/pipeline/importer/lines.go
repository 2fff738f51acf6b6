package importer

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/millrace/millrace/internal/contract/event"
)

// MaxLineBytes is how long a line may be: as long as a request's body.
const MaxLineBytes = event.MaxBodyBytes

// readBuffer is how much is read at a time.
const readBuffer = 256 << 10

// lines splits a file into records: its lines, or in CSV the rows, which go on
// over line breaks within quotes.
type lines struct {
	in   *bufio.Reader
	csv  bool
	read int64 // lines so far
}

func newLines(in io.Reader, csv bool) *lines {
	l := &lines{in: bufio.NewReaderSize(in, readBuffer), csv: csv}
	if mark, _ := l.in.Peek(len(byteOrderMark)); bytes.Equal(mark, byteOrderMark) {
		_, _ = l.in.Discard(len(mark)) // they were just seen
	}
	return l
}

var byteOrderMark = []byte("\xEF\xBB\xBF")

var (
	errTooLong  = &Rejection{Rule: "too_long", Message: "a line must have at most 2,097,152 bytes"}
	errUnclosed = &Rejection{Rule: "malformed", Message: "a quote is not closed before the end of the file"}
)

// next appends the next record to dst, without its line break, and returns the
// number of the line that it begins on, from 1. A record that is rejected has been
// passed over, and nothing was appended. The error is io.EOF at the end.
func (l *lines) next(dst []byte) (out []byte, line int64, rejected *Rejection, err error) {
	from, state, long, some := len(dst), fieldStart, false, false
	line = l.read + 1
	for {
		part, err := l.in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return dst[:from], line, nil, err
		}
		some = some || len(part) > 0
		if l.csv {
			state = state.after(part)
		}
		// Line breaks do not count, nor does what cannot be kept.
		if long = long || len(dst)-from+len(bytes.TrimRight(part, "\r\n")) > MaxLineBytes; !long {
			dst = append(dst, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case !some:
			return dst[:from], line, nil, io.EOF
		}
		l.read++
		switch end := errors.Is(err, io.EOF); {
		case state == quoted && !end:
			continue
		case long:
			return dst[:from], line, errTooLong, nil
		case state == quoted:
			return dst[:from], line, errUnclosed, nil
		}
		return dst[:from+len(bytes.TrimRight(dst[from:], "\r\n"))], line, nil, nil
	}
}

// quoting is where in a row of CSV a byte stands.
type quoting uint8

const (
	fieldStart quoting = iota
	unquoted
	quoted
	quoteSeen // within quotes, after one that either ends them or is half of a pair
)

// after returns where the byte after b stands. A quote within an unquoted field
// opens nothing: it spoils its row and no other.
func (q quoting) after(b []byte) quoting {
	if q != quoted && len(b) > 0 && bytes.IndexByte(b, '"') < 0 { // the usual case
		if b[len(b)-1] == ',' {
			return fieldStart
		}
		return unquoted
	}
	for _, c := range b {
		switch {
		case q == quoted && c == '"':
			q = quoteSeen
		case q == quoted:
		case c == '"' && (q == fieldStart || q == quoteSeen):
			q = quoted
		case c == ',':
			q = fieldStart
		case c == '\n':
			return fieldStart
		case q == quoteSeen && c == '\r':
		default:
			q = unquoted
		}
	}
	return q
}
