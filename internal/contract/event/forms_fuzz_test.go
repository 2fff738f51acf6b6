package event

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzFormsMatchReference holds the decoder of every form against a plain one that
// reads the rows of the form with encoding/json: both take or reject an item.
func FuzzFormsMatchReference(f *testing.F) {
	for i, form := range Forms {
		f.Add(uint8(i), item(form, "", ""))
		for _, row := range form.Fields {
			for value := range edges(&row) {
				if len(value) < 200 {
					f.Add(uint8(i), item(form, row.Name, value))
				}
			}
		}
	}
	var d Decoder
	f.Fuzz(func(t *testing.T, which uint8, body string) {
		form := Forms[int(which)%len(Forms)]
		formMatchesReference(t, &d, form, body)
	})
}

// TestFormsMatchReferenceOnGeneratedItems puts the edges of several fields together.
func TestFormsMatchReferenceOnGeneratedItems(t *testing.T) {
	t.Parallel()
	var d Decoder
	for seed := range uint64(3_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		form := Forms[r.IntN(len(Forms))]
		members := maps.Clone(valid[form])
		for range r.IntN(4) {
			row := form.Fields[r.IntN(len(form.Fields))]
			var values []string
			for v := range edges(&row) {
				values = append(values, v)
			}
			slices.Sort(values)
			if v := values[r.IntN(len(values))]; v != "" {
				members[row.Name] = v
			}
		}
		var list []string
		for k, v := range members {
			list = append(list, strconv.Quote(k)+":"+v)
		}
		slices.Sort(list)
		formMatchesReference(t, &d, form, "{"+strings.Join(list, ",")+"}")
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// FuzzEachMatchesReference holds DecodeEach against the plain decoder: of an array that
// is JSON each item is taken or rejected as it would be alone.
func FuzzEachMatchesReference(f *testing.F) {
	for _, body := range []string{
		`[{"eventId":"a","name":"x"},{"eventId":"a","name":"x","name":"y"},{"eventId":"b","name":"x"}]`,
		`[1e999,{"eventId":"b","name":"x","value":1e999}]`, `[[[[]]],{"eventId":"b","name":"x","properties":{"a":1,"a":2}}]`,
		`[{"eventId":"b","name":"x","u":"\"]},"} , "x" ]`, "[{\"a\":1,\"a\":\"\xff\"}]", `[{"a":1,"a":2]`, `[{"a":1,"a":2}}]`,
		"[" + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "]",
	} {
		f.Add(body)
	}
	var d Decoder
	f.Fuzz(func(t *testing.T, body string) { eachMatchesReference(t, &d, body) })
}

func eachMatchesReference(t *testing.T, d *Decoder, body string) {
	t.Helper()
	var items []json.RawMessage
	sound := utf8.ValidString(body) && json.Unmarshal([]byte(body), &items) == nil && len(items) > 0 &&
		len(items) <= MaxRejected
	events, _, err := d.DecodeEach(Pages, []byte(body))
	if (err == nil) != sound {
		t.Fatalf("DecodeEach(%.300q) = %v, the reference reads it: %v", body, err, sound)
	}
	if !sound {
		return
	}
	if len(events) != len(items) {
		t.Fatalf("DecodeEach(%.300q) has %d events, want %d", body, len(events), len(items))
	}
	for i, item := range items {
		// Around it is the array.
		takes := referenceForm(Pages, string(item)) && referenceStrict([]byte("["+string(item)+"]"))
		if events[i].Rejected == takes {
			t.Fatalf("DecodeEach(%.300q): event %d is rejected: %v, the reference takes it: %v", body, i, !takes, takes)
		}
	}
}

func formMatchesReference(t *testing.T, d *Decoder, form *Form, body string) {
	t.Helper()
	events, err := d.DecodeForm(form, One, []byte(body))
	if want := referenceForm(form, body); (err == nil) != want {
		t.Fatalf("%s: DecodeForm(%.300q) = %v, the reference takes it: %v", form.Name, body, err, want)
	}
	if err != nil {
		return
	}
	var fields map[string]any
	if json.Unmarshal([]byte(body), &fields) != nil {
		t.Fatalf("%s: %.300q was taken", form.Name, body)
	}
	if e := &events[0]; form != Engagements {
		if sent, _ := fields["anonymousId"].(string); string(e.AnonymousID) != sent {
			t.Fatalf("anonymousId %q, want %q", e.AnonymousID, sent)
		}
		for _, row := range form.Fields {
			if v, ok := fields[row.Name].(float64); ok && row.to.in == inNumber {
				if got, has := e.Page.Number(PageNumber(row.to.at)); !has || got != v {
					t.Fatalf("%s %v, want %v", row.Name, got, v)
				}
			}
		}
	}
}

// referenceForm reports whether an item is to be taken.
func referenceForm(form *Form, body string) bool {
	if !utf8.ValidString(body) || !json.Valid([]byte(body)) || !referenceStrict([]byte(body)) {
		return false
	}
	var raws map[string]json.RawMessage
	if json.Unmarshal([]byte(body), &raws) != nil || raws == nil {
		return false
	}
	for _, row := range form.Fields {
		raw, there := raws[row.Name]
		if !there || string(raw) == "null" {
			if row.Required {
				return false
			}
			continue
		}
		if !referenceFits(&row, raw) {
			return false
		}
	}
	if !form.OfPages() {
		return true
	}
	var page struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	_ = json.Unmarshal([]byte(body), &page)
	for key := range raws { // encoding/json does not look at case
		if k := strings.ToLower(key); k != key && (k == "type" || k == "name") {
			page.Type, page.Name = "", ""
			_ = json.Unmarshal(raws["type"], &page.Type)
			_ = json.Unmarshal(raws["name"], &page.Name)
		}
	}
	return page.Type == "outgoing_link" || (page.Type == "" || page.Type == "track") && page.Name != ""
}

func referenceFits(row *Field, raw json.RawMessage) bool {
	var v any
	_ = json.Unmarshal(raw, &v)
	switch row.Type {
	case Number, Integer:
		n, ok := v.(float64)
		low := row.Min == math.MinInt64 || n >= float64(row.Min)
		return ok && low && (row.Max == 0 || n <= float64(row.Max)) && (row.Type == Number || n == math.Trunc(n))
	case Time, Millis:
		if _, ok := v.(float64); !ok && row.Type == Millis {
			return false
		}
		millis, ok := referenceTime(raw)
		return ok && millis >= row.Min
	case Choice:
		return v == true || v == false || v == "auto"
	case Object, Traits:
		keys, ok := v.(map[string]any)
		var compact strings.Builder
		inText := false
		for i := 0; i < len(raw); i++ {
			switch c := raw[i]; {
			case c == '\\':
				compact.WriteByte(c)
				i++
			case c == '"':
				inText = !inText
			case !inText && strings.IndexByte(" \t\r\n", c) >= 0:
				continue
			}
			compact.WriteByte(raw[i])
		}
		for _, each := range keys {
			switch each.(type) {
			case map[string]any, []any:
				ok = ok && row.Type == Object
			}
		}
		return ok && len(keys) <= MaxPropertiesKeys && compact.Len() <= MaxPropertiesBytes
	default:
		return referenceText(row, v)
	}
}

func referenceText(row *Field, v any) bool {
	s, ok := v.(string)
	n := int64(utf8.RuneCountInString(s))
	switch {
	case !ok:
		return false
	case s == "":
		return row.Min == 0 || row.Type == Size
	case row.Type == Size:
		a, b, ok := strings.Cut(s, "x")
		return ok && referenceSide(row, a) && referenceSide(row, b)
	case n > row.Max:
		return row.Cut
	case row.Type == Word:
		return slices.Contains(row.Words, s)
	case row.Type == Referral && s == "direct":
		return true
	case row.Type == Address, row.Type == Referral:
		scheme, _ := schemeOf([]byte(s))
		return scheme != nil &&
			(row.Type == Referral || strings.EqualFold(string(scheme), "http") || strings.EqualFold(string(scheme), "https"))
	}
	return true
}

func referenceSide(row *Field, s string) bool {
	n, err := strconv.ParseUint(s, 10, 63)
	return err == nil && len(s) <= 9 && int64(n) >= row.Min && int64(n) <= row.Max
}
