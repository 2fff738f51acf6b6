package event

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// verdict is what becomes of a body.
type verdict int

const (
	accepted verdict = 200
	invalid  verdict = 400
	tooLarge verdict = 413
)

// referenceEvent is an Event in plain types.
type referenceEvent struct {
	Name, EventID, Path, AnonymousID, ProfileID, SessionID, Namespace, Source, WebsiteID string

	Properties string
	TimeMillis int64
	HasTime    bool
	Anonymize  Anonymize
}

// referenceDecode is the plainest decoder that keeps the rules: encoding/json
// over copies, one pass for each rule, nothing shared with the Decoder but the
// names of the limits.
func referenceDecode(body []byte) ([]referenceEvent, verdict) {
	if !utf8.Valid(body) || !json.Valid(body) || !referenceStrict(body) {
		return nil, invalid
	}
	var raws []json.RawMessage
	if bytes.TrimLeft(body, " \t\r\n")[0] == '[' {
		if json.Unmarshal(body, &raws) != nil || len(raws) == 0 {
			return nil, invalid
		}
	} else {
		raws = append(raws, body)
	}
	var events []referenceEvent
	result := accepted
	for _, raw := range raws {
		e, v := referenceOne(raw)
		if v == tooLarge || v == invalid && result == accepted {
			result = v
		}
		events = append(events, e)
	}
	if result != accepted {
		return nil, result
	}
	return events, accepted
}

// referenceStrict looks for what valid JSON may have and a body may not.
func referenceStrict(body []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	type level struct {
		object, value bool // value: the next token of the object is a value
		keys          map[string]bool
	}
	var levels []*level
	for {
		token, err := dec.Token()
		if err != nil {
			return err == io.EOF
		}
		var top *level
		if len(levels) > 0 {
			top = levels[len(levels)-1]
		}
		if key, ok := token.(string); ok && top != nil && top.object && !top.value {
			if top.keys[key] {
				return false
			}
			top.keys[key], top.value = true, true
			continue
		}
		if token == json.Delim('}') || token == json.Delim(']') {
			levels = levels[:len(levels)-1]
			continue
		}
		if top != nil {
			top.value = false
		}
		switch token := token.(type) {
		case json.Delim:
			levels = append(levels, &level{object: token == '{', keys: map[string]bool{}})
			if len(levels) > MaxDepth {
				return false
			}
		case json.Number:
			if _, err := strconv.ParseFloat(string(token), 64); err != nil {
				return false
			}
		}
	}
}

func referenceOne(raw json.RawMessage) (e referenceEvent, v verdict) {
	v = accepted
	bad := func(as verdict) {
		if v != tooLarge {
			v = as
		}
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return e, invalid
	}
	for name, raw := range fields {
		if string(raw) == "null" {
			delete(fields, name)
		}
	}
	text := func(name string, low, high int, to *string) {
		raw, ok := fields[name]
		if !ok {
			return
		}
		if json.Unmarshal(raw, to) != nil || len([]rune(*to)) < low || len([]rune(*to)) > high {
			bad(invalid)
		}
	}
	text("name", 1, 256, &e.Name)
	text("eventId", 0, 512, &e.EventID)
	text("path", 0, 2048, &e.Path)
	text("anonymousId", 0, 256, &e.AnonymousID)
	text("profileId", 1, 256, &e.ProfileID)
	text("sessionId", 0, 256, &e.SessionID)
	text("namespace", 0, 64, &e.Namespace)
	text("source", 0, 64, &e.Source)
	text("websiteId", 0, 255, &e.WebsiteID)
	if _, ok := fields["name"]; !ok {
		bad(invalid)
	}
	if raw, ok := fields["timestamp"]; ok {
		millis, ok := referenceTime(raw)
		if !ok || millis < time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() {
			bad(invalid)
		}
		e.TimeMillis, e.HasTime = millis, true
	}
	if raw, ok := fields["anonymizeVisitorIds"]; ok {
		var choice any
		json.Unmarshal(raw, &choice)
		switch choice {
		case true:
			e.Anonymize = AnonymizeTrue
		case false:
			e.Anonymize = AnonymizeFalse
		case "auto":
			e.Anonymize = AnonymizeAuto
		default:
			bad(invalid)
		}
	}
	if raw, ok := fields["properties"]; ok {
		var keys map[string]json.RawMessage
		var compact bytes.Buffer
		switch {
		case json.Unmarshal(raw, &keys) != nil:
			bad(invalid)
		case json.Compact(&compact, raw) != nil || compact.Len() > 32768 || len(keys) > 50:
			bad(tooLarge)
		}
		e.Properties = compact.String()
	}
	return e, v
}

var (
	referenceISO = regexp.MustCompile(`^(\+\d{6}|-\d{6}|\d{4})-(\d\d)-(\d\d)` +
		`(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?: ?(?:(?:Z|z|UTC|GMT)|([+-])(\d\d)(?::?(\d\d))?))?)?$`)
	referenceMillis = regexp.MustCompile(`^\d+(\.\d+)?$`)
	referenceZone   = regexp.MustCompile(` \([^\n]*\)$`)
)

func referenceTime(raw json.RawMessage) (int64, bool) {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return referenceFloat(string(raw))
	}
	if len(s) < 10 || len(s) > 128 {
		return 0, false
	}
	if referenceMillis.MatchString(s) {
		return referenceFloat(s)
	}
	if m := referenceISO.FindStringSubmatch(s); m != nil {
		n := func(i int) int { v, _ := strconv.Atoi(strings.TrimPrefix(m[i], "+")); return v }
		offset := n(9)*60 + n(10)
		if m[8] == "-" {
			offset = -offset
		}
		t := time.Date(n(1), time.Month(n(2)), n(3), n(4), n(5), n(6), 0, time.UTC)
		if t.Year() != n(1) || int(t.Month()) != n(2) || t.Day() != n(3) ||
			t.Hour() != n(4) || t.Minute() != n(5) || t.Second() != n(6) || n(9) > 23 || n(10) > 59 {
			return 0, false
		}
		ms, _ := strconv.Atoi((m[7] + "000")[:3])
		millis := t.Add(-time.Duration(offset)*time.Minute).UnixMilli() + int64(ms)
		return millis, millis <= 8.64e15
	}
	s = referenceZone.ReplaceAllString(s, "")
	for _, layout := range []string{time.RFC1123Z, "Mon, 02 Jan 2006 15:04:05 GMT", "Mon Jan 02 2006 15:04:05 GMT-0700"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UnixMilli(), true
		}
	}
	return 0, false
}

func referenceFloat(s string) (int64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.Abs(f) > 8.64e15 {
		return 0, false
	}
	return int64(f), true
}
