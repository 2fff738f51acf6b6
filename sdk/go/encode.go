package millrace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// object writes a JSON object member by member; members without a value are left
// out.
type object struct{ buf bytes.Buffer }

// usualBytes is room for an event without properties.
const usualBytes = 192

func newObject(name string) *object {
	o := &object{}
	o.buf.Grow(usualBytes + len(name))
	o.buf.WriteByte('{')
	return o
}

func (o *object) key(name string) {
	if o.buf.Len() > 1 {
		o.buf.WriteByte(',')
	}
	o.buf.WriteByte('"')
	o.buf.WriteString(name)
	o.buf.WriteString(`":`)
}

// raw writes a value that is JSON already.
func (o *object) raw(name, value string) {
	o.key(name)
	o.buf.WriteString(value)
}

func (o *object) text(name, value string) {
	if value == "" {
		return
	}
	o.key(name)
	o.buf.Write(appendString(o.buf.AvailableBuffer(), value))
}

func (o *object) millis(name string, t time.Time) {
	o.key(name)
	o.buf.Write(strconv.AppendInt(o.buf.AvailableBuffer(), t.UnixMilli(), 10))
}

// values writes what a caller chose, and returns what is wrong with it, or "".
func (o *object) values(name string, values map[string]any) string {
	if len(values) == 0 {
		return ""
	}
	if len(values) > MaxPropertiesKeys {
		return fmt.Sprintf("%s must have at most %d keys", name, MaxPropertiesKeys)
	}
	o.key(name)
	from := o.buf.Len()
	enc := json.NewEncoder(&o.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(values); err != nil {
		return fmt.Sprintf("%s cannot be encoded as JSON: %v", name, err)
	}
	o.buf.Truncate(o.buf.Len() - 1) // the encoder ends with a new line
	if size := o.buf.Len() - from; size > MaxPropertiesBytes {
		return fmt.Sprintf("%s must have at most %d bytes of JSON, and have %d", name, MaxPropertiesBytes, size)
	}
	return ""
}

func (o *object) end() []byte {
	o.buf.WriteByte('}')
	return o.buf.Bytes()
}

// appendString appends s as a JSON string. What is no UTF-8 becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0 // of what has not been copied
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c < ' ' || c == '"' || c == '\\' {
				dst = appendEscaped(append(dst, s[from:i]...), c)
				from = i + 1
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(append(dst, s[from:i]...), `\ufffd`...)
			from = i + 1
		}
		i += size
	}
	return append(append(dst, s[from:]...), '"')
}

func appendEscaped(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
}
