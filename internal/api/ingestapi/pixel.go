package ingestapi

import (
	"bytes"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ingest"
)

// gif is a transparent image of one pixel.
var gif = []byte(
	"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff" +
		"!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x01D\x00;")

// pixelRetryAfter is what is said to who loads the image while it cannot be counted.
const pixelRetryAfter = 5 * time.Second

// PixelType is a type of the pixel's event.
type PixelType struct {
	Name  string
	In    *ingest.Route
	Topic string // by its name without prefix
}

// PixelTypes is the table of them. Without a type the event is of the first.
var PixelTypes = []PixelType{
	{"track", ingest.PixelPage, record.TopicEvents},
	{"outgoing_link", ingest.PixelPage, record.TopicEvents},
	{"web_vitals", ingest.PixelVital, record.TopicVitals},
	{"error", ingest.PixelError, record.TopicErrors},
}

// pixelRoute returns what the pixel's event of a type is taken as; nil for an unknown
// type.
func pixelRoute(name []byte) *ingest.Route {
	for i := range PixelTypes {
		if t := &PixelTypes[i]; len(name) == 0 || string(name) == t.Name {
			return t.In
		}
	}
	return nil
}

// pixel serves GET /px.jpg: one event in the query. A page that shows a broken image
// is of no use to anybody, so the image comes also where the event is rejected for
// good. HEAD counts nothing.
func (h *handlers) pixel(c *fiber.Ctx) error {
	if string(c.Context().Method()) != fiber.MethodHead {
		ended := false
		defer func() {
			if !ended { // by a panic, of which whoever answers knows no time to wait
				c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int(pixelRetryAfter.Seconds())))
			}
		}()
		err := h.takePixel(c)
		ended = true
		if err != nil && httpkit.RowOf(err.Code).Retryable() {
			later := *err
			later.RetryAfter = pixelRetryAfter
			return &later
		}
	}
	writeImage(c.Context())
	return nil
}

// longPixel answers a request for the image whose header is too long to be read, with a
// long query or many cookies: that is rejected for good, so the image comes.
func longPixel(rc *fasthttp.RequestCtx, begins []byte) bool {
	rest, ok := bytes.CutPrefix(begins, []byte("GET /px.jpg"))
	if !ok || len(rest) == 0 || rest[0] != '?' && rest[0] != ' ' {
		return false
	}
	writeImage(rc)
	return true
}

func writeImage(rc *fasthttp.RequestCtx) {
	h := &rc.Response.Header
	h.Set(fiber.HeaderCacheControl, "no-store, no-cache, must-revalidate, private")
	h.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.SetContentType("image/gif")
	rc.Response.AppendBody(gif)
}

func (h *handlers) takePixel(c *fiber.Ctx) *apierr.Error {
	query := c.Context().QueryArgs()
	in := pixelRoute(query.Peek("type"))
	if in == nil {
		f := apierr.Invalid("type", string(event.RuleInvalidValue), event.UnknownType)
		h.intake.Reject(c.UserContext(), h.request(c, ingest.PixelPage, nil), f)
		return f
	}
	_, err := h.intake.Accept(c.UserContext(), h.request(c, in, pixelBody(in.Form, query)))
	return apierr.Of(err)
}

// pixelBody writes the fields of a form that a query holds as a JSON object, which is
// then judged like any other. Values become what their fields want, where they can
// be read so. One that is empty was not given: a template fills in what it knows and
// cannot leave out a parameter. Only for what is required that is told as it is.
func pixelBody(form *event.Form, query *fasthttp.Args) []byte {
	var root member
	for key, value := range query.All() {
		name, path := splitKey(key)
		field, known := form.Field(string(name))
		if !known {
			continue
		}
		if len(path) == 0 {
			if len(value) == 0 && !field.Required {
				continue
			}
			root.add(name).set(value, pixelValue(field.Type, value))
			continue
		}
		at := root.child(name)
		for _, step := range path[:len(path)-1] {
			at = at.child(step)
		}
		at.add(path[len(path)-1]).set(value, isLiteral(value))
	}
	return root.append(nil)
}

// splitKey takes a key such as properties[plan][name] apart. One whose brackets do
// not fit is a plain name.
func splitKey(key []byte) (name []byte, path [][]byte) {
	open := bytes.IndexByte(key, '[')
	if open <= 0 || key[len(key)-1] != ']' {
		return key, nil
	}
	return key[:open], bytes.Split(key[open+1:len(key)-1], []byte("]["))
}

// pixelValue reports whether a value stands in JSON as it is, for a field of a type.
func pixelValue(t event.Type, value []byte) bool {
	switch t {
	case event.Object, event.Traits:
		return len(value) > 0 && value[0] == '{' // a broken one is rejected as a broken body
	case event.Number, event.Integer, event.Time, event.Millis:
		return isNumber(value)
	case event.Choice:
		return isLiteral(value) && !isNumber(value)
	default:
		return false
	}
}

// isLiteral reports whether a value is a number, true or false.
func isLiteral(value []byte) bool {
	return string(value) == "true" || string(value) == "false" || isNumber(value)
}

// isNumber reports whether a value is a number as JSON writes it.
func isNumber(value []byte) bool {
	var s event.Scanner
	s.Reset(value)
	return s.Number(0) == len(value) && len(value) > 0
}

// member is a member of a JSON object that is being put together, or its root. One
// name can stand there more than once, which the decoder rejects.
type member struct {
	name    []byte
	members []*member // of an object
	value   []byte    // of another value
	literal bool      // the value stands as it is, and not in quotes
}

func (m *member) add(name []byte) *member {
	next := &member{name: name}
	m.members = append(m.members, next)
	return next
}

// child returns the object of a name, which is made with its first member.
func (m *member) child(name []byte) *member {
	for _, each := range m.members {
		if each.value == nil && bytes.Equal(each.name, name) {
			return each
		}
	}
	return m.add(name)
}

func (m *member) set(value []byte, literal bool) {
	m.value, m.literal = append([]byte{}, value...), literal // never nil
}

// append appends the value as JSON.
func (m *member) append(dst []byte) []byte {
	switch {
	case m.value != nil && m.literal:
		return append(dst, m.value...)
	case m.value != nil:
		return event.AppendQuoted(dst, m.value)
	}
	dst = append(dst, '{')
	for i, each := range m.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(event.AppendQuoted(dst, each.name), ':')
		dst = each.append(dst)
	}
	return append(dst, '}')
}
