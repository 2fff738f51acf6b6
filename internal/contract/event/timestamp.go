package event

import (
	"bytes"
	"math"
	"strconv"
	"time"
)

// Times that an event may have, in Unix milliseconds. The future is not rejected
// here: whoever stores the event decides.
const (
	// MinTimeMillis is 2000-01-01T00:00:00Z. What is older is a mistake, most
	// often seconds where milliseconds are meant.
	MinTimeMillis = 946_684_800_000
	// MaxTimeMillis is the end of the range of JavaScript's Date, in the year
	// 275760.
	MaxTimeMillis = 8_640_000_000_000_000
)

// timestamp reads the value at i: a number of Unix milliseconds, whose fraction
// is dropped, or, where the field may be one, a string that parseTime knows.
func (d *Decoder) timestamp(e *Event, f *Field, i, index, depth int) int {
	s := &d.scan
	var millis int64
	var ok bool
	var next int
	switch c := s.body[i]; {
	case c == '"' && f.Type == Time:
		var text []byte
		if text, next = s.Text(i); next >= 0 {
			millis, ok = parseTime(text)
		}
	case c == '-' || isDigit(c):
		if millis, next = plainMillis(s.body, i); next > i {
			ok = millis <= MaxTimeMillis
		} else if next = s.Number(i); next >= 0 {
			millis, ok = parseMillis(s.body[i:next])
		}
	case f.Type == Millis:
		return d.wrongType(f, "a number of Unix milliseconds", i, index, depth)
	default:
		return d.wrongType(f, "a number of Unix milliseconds or an ISO 8601 string", i, index, depth)
	}
	switch {
	case next < 0:
	case !ok:
		d.reject(index, f, RuleInvalidTime, "timestamp must be Unix milliseconds or an ISO 8601 string")
	case millis < MinTimeMillis:
		d.reject(index, f, RuleTooEarly, "timestamp must not be before 2000-01-01; a number is Unix time in milliseconds")
	default:
		e.TimeMillis, e.HasTime = millis, true
	}
	return next
}

// plainMillis reads the usual form of a timestamp, at most 16 digits that end at a
// comma or brace, and returns the position after it; i for any other.
func plainMillis(b []byte, i int) (millis int64, next int) {
	if len(b)-i <= maxMillisDigits || b[i] == '0' {
		return 0, i
	}
	for n, c := range b[i : i+maxMillisDigits+1] {
		if isDigit(c) {
			millis = millis*10 + int64(c-'0')
			continue
		}
		if n == 0 || c != ',' && c != '}' {
			break
		}
		return millis, i + n
	}
	return 0, i
}

// maxMillisDigits is how many digits MaxTimeMillis has.
const maxMillisDigits = 16

// parseMillis reads a number of the JSON grammar; it is false when the number is
// outside what a Date can hold.
func parseMillis(b []byte) (int64, bool) {
	if len(b) <= maxMillisDigits && digits(b, 0) == len(b) {
		var n int64
		for _, c := range b {
			n = n*10 + int64(c-'0')
		}
		return n, n <= MaxTimeMillis
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || math.Abs(f) > MaxTimeMillis {
		return 0, false
	}
	return int64(f), true
}

// parseTime reads the forms in which usual libraries write a time:
//
//	2026-05-01                         a date: midnight UTC
//	2026-05-01T12:34[:56[.789]][zone]  ISO 8601 and RFC 3339; a space may stand for
//	                                   the T, a comma for the point; years of six
//	                                   digits have a sign, as JavaScript writes them
//	1777638896000[.5]                  Unix milliseconds in a string
//	Fri, 01 May 2026 12:34:56 GMT      Date.toUTCString and HTTP dates
//	Fri May 01 2026 12:34:56 GMT+0200  Date.toString, with or without a zone's name
//
// Zone is Z, UTC, GMT, ±hh, ±hhmm or ±hh:mm, perhaps after a space; without one
// the time is UTC. Digits beyond milliseconds are dropped. Leap seconds and
// 24:00 are not known.
func parseTime(s []byte) (millis int64, ok bool) {
	if len(s) < len("2026-05-01") || len(s) > maxTimeLen {
		return 0, false
	}
	if n := digits(s, 0); n == len(s) || s[n] == '.' && n > 0 && digits(s, n+1) == len(s) && n+1 < len(s) {
		return parseMillis(s)
	}
	if millis, ok = parseISO(s); ok {
		return millis, true
	}
	return parseNamed(s)
}

// maxTimeLen bounds what is tried; the longest form is Date.toString with the
// name of a zone.
const maxTimeLen = 128

func parseISO(s []byte) (millis int64, ok bool) {
	p := timeText{rest: s}
	year := p.year()
	p.literal("-")
	month := p.number(2, 1, 12)
	p.literal("-")
	day := p.number(2, 1, 31)
	var hour, minute, second, ms, offset int
	if p.one("Tt ") {
		hour = p.number(2, 0, 23)
		p.literal(":")
		minute = p.number(2, 0, 59)
		if p.one(":") {
			second = p.number(2, 0, 59)
			if p.one(".,") {
				ms = p.fraction()
			}
		}
		offset = p.zone()
	}
	if p.bad || len(p.rest) > 0 {
		return 0, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute-offset, second, 0, time.UTC)
	if day > 28 && time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() != day {
		return 0, false
	}
	millis = t.UnixMilli() + int64(ms)
	return millis, millis <= MaxTimeMillis
}

// timeText is what is left of a time's text. A read that does not fit sets bad
// and returns 0.
type timeText struct {
	rest []byte
	bad  bool
}

func (p *timeText) one(of string) bool {
	if len(p.rest) == 0 || bytes.IndexByte([]byte(of), p.rest[0]) < 0 {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *timeText) literal(s string) {
	if !p.one(s) {
		p.bad = true
	}
}

// number reads exactly width digits.
func (p *timeText) number(width, low, high int) int {
	if len(p.rest) < width {
		p.bad = true
		return 0
	}
	n := 0
	for _, c := range p.rest[:width] {
		if !isDigit(c) {
			p.bad = true
			return 0
		}
		n = n*10 + int(c-'0')
	}
	p.rest = p.rest[width:]
	if n < low || n > high {
		p.bad = true
	}
	return n
}

func (p *timeText) year() int {
	switch {
	case p.one("+"):
		return p.number(6, 0, 999_999)
	case p.one("-"):
		return -p.number(6, 1, 999_999)
	}
	return p.number(4, 0, 9999)
}

// fraction reads digits of a second and returns whole milliseconds.
func (p *timeText) fraction() int {
	n := digits(p.rest, 0)
	if n == 0 {
		p.bad = true
	}
	ms := 0
	for i := range 3 {
		ms *= 10
		if i < n {
			ms += int(p.rest[i] - '0')
		}
	}
	p.rest = p.rest[n:]
	return ms
}

// zone returns the offset from UTC in minutes.
func (p *timeText) zone() int {
	if len(p.rest) == 0 {
		return 0
	}
	spaced := p.one(" ")
	switch string(p.rest) {
	case "Z", "z", "UTC", "GMT":
		p.rest = nil
		return 0
	}
	sign := 1
	if !p.one("+") {
		sign = -1
		if !p.one("-") {
			p.bad = p.bad || spaced || len(p.rest) > 0
			return 0
		}
	}
	minutes := 60 * p.number(2, 0, 23)
	if len(p.rest) > 0 {
		p.one(":")
		minutes += p.number(2, 0, 59)
	}
	return sign * minutes
}

// namedLayouts are the forms with names of days and months.
var namedLayouts = [...]string{
	"Mon, 02 Jan 2006 15:04:05 GMT",
	"Mon, 02 Jan 2006 15:04:05 -0700",
	"Mon Jan 02 2006 15:04:05 GMT-0700",
}

func parseNamed(s []byte) (millis int64, ok bool) {
	if s[len(s)-1] == ')' {
		if i := bytes.Index(s, []byte(" (")); i > 0 {
			s = s[:i]
		}
	}
	for _, layout := range namedLayouts {
		if t, err := time.Parse(layout, string(s)); err == nil {
			return t.UnixMilli(), true
		}
	}
	return 0, false
}
