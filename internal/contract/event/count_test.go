package event

import (
	"bytes"
	"strings"
	"testing"
)

// stuffed is an event whose text holds braces, and little else.
func stuffed(n int) string { return `{"name":"a","text":"` + strings.Repeat(`{\"a\":{`, n) + `"}` }

func TestOnlyObjectsInThePlaceOfEventsAreCountedWhereBracesAreDense(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("{", 100)
	for name, tc := range map[string]struct {
		body string
		want int
	}{
		"nothing":                           {"", 0},
		"an event":                          {`{"name":"a"}`, 1},
		"few braces are all counted":        {`{"a":"` + many[:15] + `"}`, 16},
		"and more are not":                  {`{"a":"` + many[:16] + `"}`, 1},
		"nor are they far apart":            {`{"a":"` + strings.Repeat("{"+strings.Repeat("x", 130), 100) + `"}`, 101},
		"nearer to each other":              {`{"a":"` + strings.Repeat("{"+strings.Repeat("x", 125), 100) + `"}`, 1},
		"objects in an event":               {`{"a":[` + strings.Repeat(`{"b":{}},`, 50) + `{}]}`, 1},
		"objects in events":                 {" \n[" + strings.Repeat(`{"b":{"c":[{}]}},`, 50) + `{}]`, 51},
		"arrays in a batch":                 {"[" + strings.Repeat(`[{}],`, 50) + `{}]`, 1},
		"an escaped quote":                  {`[{"a":"` + many + `\"` + many + `"},{}]`, 2},
		"an escaped backslash before one":   {`[{"a":"` + many + `\\"},{}]`, 2},
		"and one more":                      {`[{"a":"` + many + `\\\"` + many + `"},{}]`, 2},
		"a key":                             {`[{"` + many + `":1},{}]`, 2},
		"bytes beyond ASCII":                {`[{"a":"` + strings.Repeat("{ü\xa2\xdc", 50) + `"},{}]`, 2},
		"a text without an end":             {`[{"a":1},{"b":"` + many + `},{}]`, 2},
		"a backslash at the end":            {`[{"a":1},{"b":"` + many + `\`, 2},
		"something behind the root":         {`{"a":"` + many + `"}{}`, 2},
		"a root that is neither":            {`"` + many + `"`, 0},
		"quotes at each place in the words": {"[" + wordPlaces() + "{}]", 18},
	} {
		if got := AtMost([]byte(tc.body)); got != tc.want {
			t.Errorf("%s: AtMost() = %d, want %d", name, got, tc.want)
		}
	}
}

// wordPlaces is 17 events with texts of 1 to 17 bytes.
func wordPlaces() string {
	var b strings.Builder
	for n := range 17 {
		b.WriteString(`{"` + strings.Repeat("{", n+1) + `":""},`)
	}
	return b.String()
}

func FuzzAtMostIsNoLessThanIsRead(f *testing.F) {
	for _, body := range []string{
		`{"name":"a"}`, `[{"name":"a"},{"name":"b"}]`, ` [ {"name":"a\"{"} , {"name":"\\"} ] `, "[" + wordPlaces() + "{}]",
		`[{"name":"a"}{"name":"b"}]`, `[{"name":"a"},{"name":"b]`, `[{"name":"a","x":[}]},{"name":"b"}]`,
		`[1,{"name":"a"},[{"name":"b"}]]`,
		`[{"name":"a","properties":{"a":{"b":[{}]}}},{"name":"b","name":"c"},{"name":"d"}]`,
		"[{\"name\":\"a\xff\"},{\"name\":\"b\"}]", `{"name":"a"}{"name":"b"}`, "\v[{\"name\":\"a\"}]", stuffed(40),
		"[" + stuffed(40) + "," + stuffed(3) + "]",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var d Decoder
		for _, form := range []*Form{Track, Pixels} {
			events, err := d.DecodeForm(form, OneOrMany, body)
			if n := objects(body); len(d.events) > n || err == nil && len(events) != n {
				t.Errorf("%d objects are told, %d were read, %v: %q", n, len(d.events), err, body)
			}
			d.DecodeEach(form, body)
			if n := objects(body); len(d.events)-d.rejections > n {
				t.Errorf("%d objects are told, %d were read: %q", n, len(d.events)-d.rejections, body)
			}
		}
		if braces := bytes.Count(body, []byte{'{'}); AtMost(body) > braces {
			t.Errorf("more than there are braces: %q", body)
		}
	})
}

func BenchmarkAtMost(b *testing.B) {
	tiny := "[" + strings.Repeat(`{"name":"a"},`, 7999) + `{"name":"a"}]`
	for _, tc := range []struct {
		name string
		body []byte
	}{
		{"an event", benchEvent(1)},
		{"215 events", benchBody(215)},
		{"8,000 tiny events", []byte(tiny)},
		{"100 KB of escaped braces", []byte(stuffed(12_500))},
		{"100 KB of braces", []byte(`{"name":"a","text":"` + strings.Repeat("{", 100_000) + `"}`)},
	} {
		for name, count := range map[string]func([]byte) int{
			"at most": AtMost, "objects": objects, "braces": func(b []byte) int { return bytes.Count(b, []byte{'{'}) },
		} {
			b.Run(tc.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(tc.body)))
				for b.Loop() {
					count(tc.body)
				}
			})
		}
	}
}
