package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// seeds are bodies that name the interesting cases; testdata holds more, found by
// the fuzzer.
var seeds = []string{
	`{"name":"signup"}`,
	`[{"name":"a"},{"name":"b","properties":{"k":[1,2.5e3,-0,true,null,"\u00e9\ud83d\ude00"]}}]`,
	"\ufeff" + `{"name":"a"}`,
	` { "name" : "a b" , "properties" : { "x" : [ 1 , { "y" : "  \" " } ] } } `,
	`{"n\u0061me":"a","\u006eame":"b"}`,
	`{"name":"a","properties":{"a":{"b":1,"\u0062":2}}}`,
	`{"name":"\ud800","eventId":"\udc00\ud800x","properties":{"\ud800":"\udfff\ud83d\ude00"}}`,
	`{"name":"a","timestamp":1795000000000.75}`,
	`{"name":"a","timestamp":"2026-05-01T12:34:56.789+02:00"}`,
	`{"name":"a","timestamp":"2026-05-01 12:34"}`,
	`{"name":"a","timestamp":"Fri May 01 2026 12:34:56 GMT+0200 (Central European Summer Time)"}`,
	`{"name":"a","timestamp":"Fri, 01 May 2026 12:34:56 GMT"}`,
	`{"name":"a","timestamp":"+012026-05-01T12:34:56.7Z"}`,
	`{"name":"a","timestamp":"1795000000000.5"}`,
	`{"name":"a","anonymizeVisitorIds":"auto","profileId":null,"sessionId":"","websiteId":"web_1"}`,
	`{"name":"a","unknown":{"deep":[[[[]]]]},"other":1e400}`,
	`{"name":"a","properties":{"a":1e308,"b":1e309}}`,
	`{"name":1,"eventId":[],"properties":3,"timestamp":{},"anonymizeVisitorIds":"yes"}`,
	`{"name":"` + strings.Repeat("é", 256) + `","namespace":"` + strings.Repeat("x", 65) + `"}`,
	`[]`, `[1]`, `[{}]`, `null`, ``, `{`, `{"name":"a"}x`, "{\"name\":\"a\tb\"}", "{\"name\":\"\xff\"}",
	`{"name":"a","properties":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`,
	manyKeys(51), manyKeys(17) + manyKeys(17),
	`{"name":"a","properties":{"nested":` + strings.Replace(manyKeys(40), `"k39"`, `"k3"`, 1) + `}}`,
}

func manyKeys(n int) string {
	b := []byte(`{"name":"a","properties":{`)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"', 'k', byte('0'+i/10), byte('0'+i%10), '"', ':', '1')
	}
	return string(b) + `}}`
}

// FuzzDecodeMatchesReference holds the one-pass decoder against the plain one:
// both accept or reject, with the same status, and agree on every value.
func FuzzDecodeMatchesReference(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	var d Decoder // kept over bodies, as in service
	f.Fuzz(func(t *testing.T, body []byte) { matchesReference(t, &d, body) })
}

// TestDecodeMatchesReferenceOnGeneratedBodies goes where random bytes seldom get:
// bodies of known fields with values at the edge, now and then with one byte
// changed.
func TestDecodeMatchesReferenceOnGeneratedBodies(t *testing.T) {
	t.Parallel()
	var d Decoder
	for seed := range uint64(4_000) {
		g := generator{rand.New(rand.NewPCG(seed, 0))}
		body := g.body()
		if g.one(4) {
			body[g.IntN(len(body))] = "\x00\"\\{}[],: 0e.u\xc3"[g.IntN(15)]
		}
		matchesReference(t, &d, body)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func matchesReference(t *testing.T, d *Decoder, body []byte) {
	t.Helper()
	want, wantVerdict := referenceDecode(body)
	before := bytes.Clone(body)
	events, err := d.Decode(body)
	if !bytes.Equal(body, before) {
		t.Fatalf("Decode changed the body")
	}
	if got := verdictOf(t, err); got != wantVerdict {
		t.Fatalf("Decode(%q) is %d (%v), the reference says %d", body, got, err, wantVerdict)
	}
	if len(events) != len(want) {
		t.Fatalf("Decode(%q) has %d events, the reference %d", body, len(events), len(want))
	}
	for i := range events {
		got := plain(&events[i])
		sameJSON(t, got.Properties, want[i].Properties)
		got.Properties, want[i].Properties = "", ""
		if events[i].Plain {
			wantPlain(t, body, &events[i])
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Fatalf("Decode(%q), event %d (-reference +got):\n%s", body, i, diff)
		}
	}
	id := string(d.PeekWebsiteID(body))
	if len(want) > 0 && id != want[0].WebsiteID {
		t.Fatalf("PeekWebsiteID(%q) = %q, want %q", body, id, want[0].WebsiteID)
	}
}

// wantPlain wants nothing in the texts of e that JSON escapes.
func wantPlain(t *testing.T, body []byte, e *Event) {
	t.Helper()
	for f := fieldName; f <= fieldWebsiteID; f++ {
		for _, c := range *e.text(f) {
			if c < ' ' || c == '"' || c == '\\' {
				t.Fatalf("Decode(%q): %s %q is said to be plain", body, Track.fields[f].Name, *e.text(f))
			}
		}
	}
}

func verdictOf(t *testing.T, err error) verdict {
	t.Helper()
	if err == nil {
		return accepted
	}
	bad, ok := errors.AsType[*Invalid](err)
	switch {
	case !ok:
		t.Fatalf("error %v is no *Invalid", err)
	case len(bad.Problems) == 0 || len(bad.Problems) > MaxProblems:
		t.Fatalf("%d problems", len(bad.Problems))
	case bad.TooLarge:
		return tooLarge
	}
	return invalid
}

func plain(e *Event) referenceEvent {
	return referenceEvent{
		Name: string(e.Name), EventID: string(e.EventID), Path: string(e.Path),
		AnonymousID: string(e.AnonymousID), ProfileID: string(e.ProfileID), SessionID: string(e.SessionID),
		Namespace: string(e.Namespace), Source: string(e.Source), WebsiteID: string(e.WebsiteID),
		Properties: string(e.Properties), TimeMillis: e.TimeMillis, HasTime: e.HasTime, Anonymize: e.Anonymize,
	}
}

// sameJSON wants got to be want, which is compact, byte for byte; only the escape
// of an unpaired surrogate may have become that of U+FFFD.
func sameJSON(t *testing.T, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	if len(got) != len(want) || !strings.Contains(strings.ToLower(want), `\ud`) {
		t.Fatalf("properties %q, want %q", got, want)
	}
	if !reflect.DeepEqual(anyOf(t, got), anyOf(t, want)) {
		t.Fatalf("properties %q mean something else than %q", got, want)
	}
}

func anyOf(t *testing.T, s string) (v any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return v
}
