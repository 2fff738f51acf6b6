package httpkit

import (
	"cmp"
	"fmt"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// MaxDepth is the largest number of levels at which arrays and objects of a JSON body are nested.
const MaxDepth = 64

// treeBytes is the memory of a JSON value in the tree that a parser builds, in bytes: measured with
// fastjson, which needs 480 at most, and encoding/json, which needs 460.
const treeBytes = 512

// Limits of a route's body.
type Limits struct {
	Bytes  int // before and after decompression; 0 for the app's limit
	Values int // JSON values, including members of objects
}

// JSON returns the request's body, as Body does, for a handler that builds a tree of it. It counts the
// values and claims the memory of the tree before there is one. It does not check the syntax. In
// addition to the errors of Body, a body with too many values is a PayloadTooLarge error, and one that
// is nested deeper than MaxDepth a Validation error.
func JSON(c *fiber.Ctx, limits Limits) ([]byte, error) {
	r := requestOf(c.Context())
	r.meter = meter{most: limits.Values}
	body, err := BodyUpTo(c, cmp.Or(limits.Bytes, r.limit))
	if err != nil {
		return nil, err
	}
	if !r.meter.begun { // it was not compressed
		err = r.meter.add(body)
	}
	if err == nil {
		err = r.meter.check(1)
	}
	if err != nil {
		return nil, err
	}
	return body, r.claimMore(c.Context(), int64(r.meter.values+1)*treeBytes)
}

// meter counts the values in a JSON text, which comes in parts. Of a text that is no JSON, it counts
// what a parser would have built before it found out.
type meter struct {
	most            int // values; 0 counts nothing
	values          int // besides the whole text
	level           int
	begun           bool
	last            byte // other than white space
	quoted, escaped bool
}

// add counts the values of a part. It returns an error for a value too many and a level too deep.
func (m *meter) add(text []byte) error {
	m.begun = true
	if m.most == 0 {
		return nil
	}
	for _, b := range text {
		switch {
		case m.escaped:
			m.escaped = false
			continue
		case m.quoted:
			m.quoted, m.escaped = b != '"', b == '\\'
			continue
		}
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			m.quoted = true
		case ',':
			m.values++
		case '[', '{':
			m.values++ // its first value
			m.level++
		case ']', '}':
			m.level--
			if m.last == '[' || m.last == '{' {
				m.values--
			}
		}
		m.last = b
		if m.level > MaxDepth {
			return apierr.Invalid("", "too_deep", fmt.Sprintf("The body must be nested at most %d levels deep", MaxDepth))
		}
		if err := m.check(0); err != nil { // the last value may be none, of an empty array
			return err
		}
	}
	return nil
}

// check rejects too many values, which are so many more than were counted.
func (m *meter) check(more int) error {
	if m.most > 0 && m.values+more > m.most {
		return &apierr.Error{
			Code: apierr.PayloadTooLarge, Message: fmt.Sprintf("The body must have at most %d JSON values", m.most),
		}
	}
	return nil
}
