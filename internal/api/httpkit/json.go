package httpkit

import (
	"bytes"
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
	if r := requestOf(c.Context()); r != nil && limits.Bytes > 0 {
		r.limit = limits.Bytes
	}
	body, err := Body(c)
	if err != nil {
		return nil, err
	}
	values, depth := measure(body)
	switch {
	case values > limits.Values:
		return nil, &apierr.Error{
			Code:    apierr.PayloadTooLarge,
			Message: fmt.Sprintf("The body has more than %d JSON values", limits.Values),
		}
	case depth > MaxDepth:
		return nil, apierr.Invalid("", "too_deep", fmt.Sprintf("The body must be nested at most %d levels deep", MaxDepth))
	}
	return body, requestOf(c.Context()).claimMore(c.Context(), int64(values)*treeBytes)
}

// measure returns the number of values and the depth of a JSON text. In a text that is no JSON, it
// counts what a parser would have built before it found out.
func measure(text []byte) (values, depth int) {
	level, last := 0, byte(0)
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			i += stringEnd(text[i+1:])
		case ',':
			values++
		case '[', '{':
			values++ // its first value
			level++
			depth = max(depth, level)
		case ']', '}':
			level--
			if last == '[' || last == '{' {
				values--
			}
		}
		last = b
	}
	return values + 1, depth
}

// stringEnd returns the number of bytes from the begin of a string's text to its closing quote, with it.
func stringEnd(text []byte) int {
	for i := 0; ; {
		end := bytes.IndexByte(text[i:], '"')
		if end < 0 {
			return len(text)
		}
		i += end + 1
		escapes := 0
		for escapes < i-1 && text[i-2-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}
