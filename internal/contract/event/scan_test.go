package event

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a decoder remembers of the keys it has read must not show.
func TestADecoderReadsABodyAsIfItWereItsFirst(t *testing.T) {
	t.Parallel()
	g := generator{rand.New(rand.NewPCG(1, 2))}
	var used Decoder
	for range 20_000 {
		body := g.body()
		var fresh Decoder
		got, gotErr := decoded(&used, body)
		want, wantErr := decoded(&fresh, body)
		if diff := cmp.Diff(want, got) + cmp.Diff(wantErr, gotErr); diff != "" {
			t.Fatalf("%s\n%s", body, diff)
		}
	}
}

func decoded(d *Decoder, body []byte) (events []referenceEvent, problems []Problem) {
	all, err := d.Decode(body)
	if invalid, ok := errors.AsType[*Invalid](err); ok {
		return nil, invalid.Problems
	}
	for i := range all {
		events = append(events, plain(&all[i]))
	}
	return events, nil
}

func TestAKeyIsTakenForAnotherOnlyWhenItIsTheSame(t *testing.T) {
	t.Parallel()
	const first = `{"name":"a","path":"/"}`
	for _, second := range []string{
		`{"name":"b","path":"/2"}`, `{"path":"/2","name":"b"}`, `{ "name" :"b", "path":"/2"}`, `{"name": "b","path" : "/2"}`,
		`{"n\u0061me":"b","path":"/2"}`, `{"name2":"x","name":"b","path":"/2"}`, `{"name":"b","pathx":1,"path":"/2"}`,
		`{"name":"b","x":{"path":"/9"},"path":"/2"}`,
	} {
		var d Decoder
		events, err := d.Decode([]byte("[" + first + "," + second + "," + first + "]"))
		if err != nil {
			t.Errorf("%s: %v", second, err)
			continue
		}
		if string(events[1].Name) != "b" || string(events[1].Path) != "/2" || string(events[2].Name) != "a" {
			t.Errorf("%s is read as %s at %s", second, events[1].Name, events[1].Path)
		}
	}
	for _, bad := range []string{
		`{"name"`, `{"name":`, `{"name":"`, `{"name":"b`, `{"name":"b","name":"c"}`, `{"name":"b","path":"/","path":"/"}`,
	} {
		var d Decoder
		if events, err := d.Decode([]byte("[" + first + "," + bad)); err == nil {
			t.Errorf("%s is taken: %v", bad, events)
		}
	}
}
