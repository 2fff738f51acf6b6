package analyticstest

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

type valueKind uint8

const (
	textValue   valueKind = iota // empty where none was sent
	numberValue                  // nothing where none was sent
	keysValue                    // a set of texts
	anyValue                     // whatever JSON stands under a key
	traitValue                   // the same, but of a user, of whom it is known or not
)

// value is what an event has in a field.
type value struct {
	kind    valueKind
	text    string
	number  float64
	numeric bool
	single  bool // the number is kept in 32 bits, and compared with what others are in these
	there   bool
	keys    []string
}

// textFields are those of a text, by the column of the web that holds them.
var textFields = map[string]string{
	"host": "host", "title": "title", "browser_name": "browser", "browser_version": "browser_version", "os_name": "os",
	"os_version":  "os_version",
	"device_type": "device", "country": "country", "region": "region", "city": "city", "connection": "connection",
	"language": "language",
	"timezone": "timezone", "screen": "screen", "viewport": "viewport", "referrer": "referrer",
	"referrer_domain": "referrer_host",
	"utm_source":      "utm_source", "utm_medium": "utm_medium", "utm_campaign": "utm_campaign", "utm_term": "utm_term",
	"utm_content": "utm_content",
	"href":        "href", "link_text": "link_text", "message": "message", "filename": "filename",
}

// ownFields are the texts that are not of the web.
var ownFields = map[string]func(*Event) string{
	"path": pathOf, "event_name": nameOf, "session_id": sessionOf, "anonymous_id": visitorOf,
	"error_type": nameOf, "metric_name": nameOf,
	"namespace":     func(e *Event) string { return e.Namespace },
	"source":        func(e *Event) string { return e.Source },
	"profile_id":    func(e *Event) string { return e.ProfileID },
	"website_id":    func(e *Event) string { return e.Website },
	"referrer_type": kindOfReferrer, "referrer_name": nameOfReferrer,
	"query_string": func(e *Event) string {
		page, _, _ := strings.Cut(e.Path, "#")
		_, query, _ := strings.Cut(page, "?")
		return query
	},
}

// numberFields are those of a number, by what Numbers calls it.
var numberFields = map[string]string{
	"lineno": "line", "colno": "col", "scroll_depth": "scroll_depth", "interactions": "interactions",
	"page_count": "page_count",
	"load_time":  "load_time", "dom_ready": "dom_ready", "dom_interactive": "dom_interactive", "ttfb": "ttfb",
	"render_time":   "render_time",
	"redirect_time": "redirect_time", "lookup_time": "lookup_time", "rtt": "rtt", "downlink": "downlink",
}

// wholeFields are those of numbers that are kept as they are.
var wholeFields = []string{"lineno", "colno", "interactions", "page_count", "metric_value"}

// as is a number as it is compared with the value.
func (v value) as(n float64) float64 {
	if v.single {
		return float64(float32(n))
	}
	return n
}

// getter returns what reads a field of an event.
func (c *Conditions) getter(field string) func(*Event) value {
	number := func(get func(*Event) (float64, bool)) func(*Event) value {
		return func(e *Event) value {
			n, ok := get(e)
			return value{kind: numberValue, number: n, numeric: ok, single: !slices.Contains(wholeFields, field)}
		}
	}
	kind, key, keyed := strings.Cut(field, ":")
	switch {
	case keyed && kind == "property":
		return func(e *Event) value { return jsonValue(members(e.Properties)[key]) }
	case keyed && kind == "trait":
		return func(e *Event) value {
			v := jsonValue(c.users.traits(e)[key])
			v.kind = traitValue
			return v
		}
	case field == "property_key":
		return func(e *Event) value {
			return value{kind: keysValue, keys: slices.Collect(maps.Keys(members(e.Properties)))}
		}
	case field == "metric_value":
		return number(func(e *Event) (float64, bool) { return e.Value, true })
	case field == "time_on_page":
		return number(func(e *Event) (float64, bool) {
			s, ok := secondsOnPage(e)
			return s, ok && e.Name == "page_exit"
		})
	case numberFields[field] != "":
		return number(func(e *Event) (float64, bool) {
			n, ok := e.Numbers[numberFields[field]]
			return n, ok || e.Kind == "error" // their numbers are 0 where none was sent
		})
	case ownFields[field] != nil:
		return func(e *Event) value { return value{text: ownFields[field](e)} }
	case textFields[field] != "":
		return func(e *Event) value { return value{text: e.Web[textFields[field]]} }
	}
	panic(field) //nolint:forbidigo // a mistake in a test
}

// members are the values of a JSON object, as JSON.
func members(object string) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if object != "" {
		if err := json.Unmarshal([]byte(object), &m); err != nil {
			panic(err) //nolint:forbidigo // a mistake in a test
		}
	}
	return m
}

// jsonValue is what stands under a key; nothing for null and for nothing.
func jsonValue(raw json.RawMessage) value {
	if len(raw) == 0 || string(raw) == "null" {
		return value{kind: anyValue}
	}
	v := value{kind: anyValue, there: true}
	var decoded any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&decoded); err != nil {
		panic(err) //nolint:forbidigo // a mistake in a test
	}
	switch decoded.(type) {
	case string, json.Number, bool:
		v.text = textOf(decoded)
		v.number, v.numeric = numberOf(v.text)
	default:
		v.text = embedded.ReplaceAllStringFunc(string(raw), func(s string) string {
			if s[0] == '"' {
				return s
			}
			return textOf(json.Number(s))
		})
	}
	return v
}

// embedded finds the numbers in JSON, and texts, so that numbers in those are passed
// over.
var embedded = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?[0-9][-+.0-9eE]*`)

// textOf is a scalar as a text. A number is written in its shortest form, unless
// it is a whole one of at most 64 bits.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case json.Number:
		if _, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return v.String()
		}
		if _, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return v.String()
		}
		n, _ := v.Float64()
		if a := math.Abs(n); a != 0 && (a >= 1e21 || a < 1e-6) {
			text := strconv.FormatFloat(n, 'e', -1, 64)
			return strings.NewReplacer("e+0", "e", "e-0", "e-", "e+", "e").Replace(text)
		}
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	panic(v) //nolint:forbidigo // a mistake in a test
}

var decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// numberOf is the number that a text is.
func numberOf(text string) (float64, bool) {
	if !decimal.MatchString(text) {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

// users are who the identities of a set tell of, by owner and id.
type users struct {
	known   map[[2]string]map[string]json.RawMessage
	aliases map[[2]string]string
	since   map[[2]string]time.Time
}

func usersOf(events []Event) users {
	u := users{
		known: map[[2]string]map[string]json.RawMessage{}, aliases: map[[2]string]string{},
		since: map[[2]string]time.Time{},
	}
	told := slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return e.Kind != "identity" })
	slices.SortFunc(told, func(a, b Event) int { return a.Time.Compare(b.Time) })
	for i := range told {
		e := &told[i]
		user := [2]string{e.Owner(), e.ProfileID}
		if u.known[user] == nil {
			u.known[user], u.since[user] = map[string]json.RawMessage{}, e.Time
		}
		maps.Copy(u.known[user], members(e.Properties))
		if e.AnonymousID != "" {
			u.aliases[[2]string{e.Owner(), e.AnonymousID}] = e.ProfileID
		}
	}
	return u
}

// of is the user that an event names, else the one that its visitor is.
func (u *users) of(e *Event) string {
	if e.ProfileID != "" {
		return e.ProfileID
	}
	return u.aliases[[2]string{e.Owner(), e.AnonymousID}]
}

// traits are those of an event's user.
func (u *users) traits(e *Event) map[string]json.RawMessage {
	return u.known[[2]string{e.Owner(), u.of(e)}]
}

// identifiedAt is when a user of an event's owner was first told of; nil for never.
func (u *users) identifiedAt(e *Event, user string) any {
	at, ok := u.since[[2]string{e.Owner(), user}]
	if !ok {
		return nil
	}
	return instant(at)
}

// trait is a text that is known of a user of an event's owner.
func (u *users) trait(e *Event, user, name string) string {
	var text string
	if err := json.Unmarshal(u.known[[2]string{e.Owner(), user}][name], &text); err != nil {
		return ""
	}
	return text
}

// Whose is the condition that an event is of whom an id belongs to: the id of a
// visitor, or of a user.
func (c *Conditions) Whose(id string) func(*Event) bool {
	u := &c.users
	return func(e *Event) bool {
		user := u.of(e)
		return e.AnonymousID == id || user != "" && (user == id || user == u.aliases[[2]string{e.Owner(), id}])
	}
}
