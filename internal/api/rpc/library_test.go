package rpc_test

import (
	"encoding/json"
	"testing"

	"github.com/millrace/millrace/internal/api/rpc"
)

func decoded(tb testing.TB, body string) (v map[string]any) {
	tb.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		tb.Fatal(err)
	}
	return v
}

func described(tb testing.TB) *rpc.Document {
	tb.Helper()
	doc, err := rpc.Describe(rpc.Info{Title: "Test", Version: "1"}, table())
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

const create = "/rpc/things/create"

func TestX(t *testing.T) {
	doc := described(t)
	for _, b := range []string{`{}`, `{"name":1}`, `{"name":""}`, `{"name":"x","nmae":1}`, `{"name":"x","count":1.5}`, `{"name":"x","count":9}`, `{"name":"x","kind":"green"}`,
		`{"name":"x","tags":["a","a","b"]}`, `{"name":"x","tags":["aaaa"]}`, `{"name":"x","note":null}`, `{"name":"x","note":5}`, `{"name":"x","until":"y"}`, `{"name":"x","until":null}`, `{"name":"x","limits":{"seconds":0}}`, `{"name":"x","count":1e400}`} {
		var v map[string]any
		if json.Unmarshal([]byte(b), &v) != nil {
			continue
		}
		t.Log(b, "\n  OURS", doc.Check(create, v), "\n  HUMA", doc.CheckByHuma(create, v))
	}
}

// A body is checked by the compiled schema of the document, and by the library that writes it.
func BenchmarkCheck(b *testing.B) {
	doc := described(b)
	for name, body := range map[string]string{
		"good": `{"name":"x","count":3,"kind":"red","tags":["a","b"],"note":"n","limits":{"seconds":60},"until":"2026-11-26T12:00:00.000Z"}`,
		"bad":  `{"name":"","count":9,"kind":"green","tags":["aaaa"]}`,
	} {
		v := decoded(b, body)
		b.Run(name+"/ours", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := doc.Check(create, v); (err == nil) != (name == "good") {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/huma", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if errs := doc.CheckByHuma(create, v); (len(errs) == 0) != (name == "good") {
					b.Fatal(errs)
				}
			}
		})
	}
}
