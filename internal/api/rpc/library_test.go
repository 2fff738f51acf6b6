package rpc_test

import (
	"encoding/json"
	"strings"
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

// What the library takes and the document does not is a reason not to check by it; another one
// is that its problems repeat the values, which may be passwords.
func TestTheLibraryChecksOtherwiseThanTheDocumentSays(t *testing.T) {
	t.Parallel()
	doc := described(t)
	for body, want := range map[string]struct{ ours, byHuma bool }{
		`{"name":"x"}`:                  {true, true},
		`{"name":"x","note":null}`:      {true, true},
		`{"name":""}`:                   {false, false},
		`{"name":"x","colour":1}`:       {false, false},
		`{"name":"x","tags":["a","a"]}`: {false, false},
		`{"name":"x","until":"y"}`:      {false, false},
		`{"name":"x","until":null}`:     {false, true}, // null is no date-time
	} {
		object := decoded(t, body)
		if err := doc.Check(create, object); (err == nil) != want.ours {
			t.Errorf("%s: %v", body, err)
		}
		if problems := doc.CheckByHuma(create, object); (len(problems) == 0) != want.byHuma {
			t.Errorf("%s: the library finds %v", body, problems)
		}
	}
	problems := doc.CheckByHuma(create, decoded(t, `{"name":"hunter2hunter2"}`))
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "hunter2") {
		t.Errorf("the library does not repeat values any more: %v", problems)
	}
}
