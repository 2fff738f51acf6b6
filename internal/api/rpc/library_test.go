package rpc_test

import (
	"encoding/json"
	"testing"

	"github.com/millrace/millrace/internal/api/rpc"
)

// create is the operation whose input has a field of every kind.
const create = "/rpc/things/create"

func described(tb testing.TB) *rpc.Document {
	tb.Helper()
	doc, err := rpc.Describe(rpc.Info{Title: "Test", Version: "1"}, table())
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

func decoded(tb testing.TB, body string) (object map[string]any) {
	tb.Helper()
	if err := json.Unmarshal([]byte(body), &object); err != nil {
		tb.Fatal(err)
	}
	return object
}

// bodies are good and bad, and how many problems a bad one has.
var bodies = map[string]int{
	`{"name":"x","count":3,"kind":"red","tags":["a","b"],"note":"n","limits":{"seconds":60},"until":"2026-11-26T12:00:00.000Z"}`: 0,
	`{"name":"x","note":null,"until":null}`: 0,
	`{}`:                                    1,
	`{"name":1}`:                            1,
	`{"name":""}`:                           1,
	`{"name":"x","nmae":1}`:                 1,
	`{"name":"x","count":1.5}`:              1,
	`{"name":"x","count":6,"kind":"green"}`: 2,
	`{"name":"x","tags":["a","a"]}`:         1,
	`{"name":"x","tags":["aaaa"]}`:          1,
	`{"name":"x","note":5}`:                 1,
	`{"name":"x","until":"y"}`:              1,
	`{"name":"x","limits":{"seconds":0}}`:   1,
}

// A body is checked by the compiled schema of the document, and by the library that writes it;
// docs/adr/0024-libraries-and-what-is-our-own.md has the figures.
func BenchmarkCheck(b *testing.B) {
	doc := described(b)
	for name, body := range map[string]string{
		"good": `{"name":"x","count":3,"kind":"red","tags":["a","b"],"note":"n","limits":{"seconds":60}}`,
		"bad":  `{"name":"","count":9,"kind":"green","tags":["aaaa"]}`,
	} {
		object := decoded(b, body)
		for by, check := range map[string]func() bool{
			"ours": func() bool { return doc.Check(create, object) == nil },
			"huma": func() bool { return len(doc.CheckByHuma(create, object)) == 0 },
		} {
			b.Run(name+"/"+by, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if check() != (name == "good") {
						b.Fatal("the verdict is another one")
					}
				}
			})
		}
	}
}

func TestX(t *testing.T) {
	doc := described(t)
	for body := range bodies {
		v := decoded(t, body)
		t.Log(body, "\n  OURS", doc.Check(create, v), "\n  HUMA", doc.CheckByHuma(create, v))
	}
}
