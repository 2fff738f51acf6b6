package export

import (
	"encoding/base64"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestACursorReadsBackAsItsPosition(t *testing.T) {
	t.Parallel()
	s := newSeal("events", "web_1", begin, begin.AddDate(0, 0, 1))
	for _, p := range []RowKey{
		{},
		{Day: 1, Name: "signup", Key: 2},
		{Day: math.MaxUint16, Name: strings.Repeat("😀", 256), Key: math.MaxUint64},
		{Name: "a\x00b\xff"},
	} {
		text := s.text(&p)
		got, ok := s.open(text)
		if !ok || len(text) > MaxCursorLen {
			t.Fatalf("%v: %t, %d bytes", p, ok, len(text))
		}
		if diff := cmp.Diff(p, *got); diff != "" {
			t.Errorf("position (-want +got):\n%s", diff)
		}
	}
}

func TestACursorOfSomethingElseIsRejected(t *testing.T) {
	t.Parallel()
	end := begin.AddDate(0, 0, 1)
	s := newSeal("events", "web_1", begin, end)
	p := &RowKey{Day: 20_000, Name: "signup", Key: 1 << 60}
	text := s.text(p)
	others := []string{
		"", "!", "AAAA", text + "A", text[1:], text[:len(text)-1], " " + text, strings.Repeat("A", MaxCursorLen+1),
		newSeal("vitals", "web_1", begin, end).text(p), newSeal("events", "web_2", begin, end).text(p),
		newSeal("events", "web_1", begin.Add(1e6), end).text(p), newSeal("events", "web_1", begin, end.Add(1e6)).text(p),
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw { // every bit that may flip
		for bit := range 8 {
			raw[i] ^= 1 << bit
			others = append(others, base64.RawURLEncoding.EncodeToString(raw))
			raw[i] ^= 1 << bit
		}
	}
	for _, other := range others {
		if got, ok := s.open(other); ok {
			t.Errorf("%q is taken for %v", other, got)
		}
	}
}

func FuzzCursor(f *testing.F) {
	s := newSeal("events", "web_1", begin, begin.AddDate(0, 0, 1))
	f.Add(s.text(&RowKey{Day: 1, Name: "signup", Key: 2}))
	f.Add("AQ")
	f.Fuzz(func(t *testing.T, text string) {
		if p, ok := s.open(text); ok && s.text(p) != text {
			t.Errorf("%q was read as %v, which is %q", text, p, s.text(p))
		}
	})
}
