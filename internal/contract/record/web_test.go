package record_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/contract/record/recordtest"
	"github.com/millrace/millrace/schemas/topics"
)

func TestEveryFieldOfTheWebSurvivesEncoding(t *testing.T) {
	t.Parallel()
	in := record.Event{
		ID: []byte("i"), Organization: []byte("o"), Owner: []byte("o"), Type: []byte("custom"), Name: []byte("n"),
		Web:        new(record.Web),
		Properties: []byte(`{"k":1}`),
	}
	for n := range record.NumWebTexts {
		in.Web.Texts[n] = fmt.Appendf(nil, "\"é\\ %d", n)
	}
	for n := range record.NumWebNumbers {
		in.Web.Set(record.WebNumber(n), -float64(n)/3)
	}
	value := record.AppendEvent(nil, &in)
	if !json.Valid(value) {
		t.Fatalf("not JSON: %s", value)
	}
	var d record.Decoder
	var out record.Event
	if err := d.DecodeEvent(value, &out); err != nil {
		t.Fatal(err)
	}
	sameFields(t, "value", &out, value)
	in.Version = record.EventVersion
	if diff := cmp.Diff(in, out); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	if err := d.DecodeEvent([]byte(minimalValue), &out); err != nil || out.Web != nil {
		t.Errorf("an event without any has %+v of the one before, %v", out.Web, err)
	}
	if err := d.DecodeEvent([]byte(strings.Replace(minimalValue, `"n"`, `"n","host":"h"`, 1)), &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(webOf(map[record.WebText]string{record.Host: "h"}, nil), out.Web); diff != "" {
		t.Errorf("fields of the event before are left (-want +got):\n%s", diff)
	}
}

func TestNumbersAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	var d record.Decoder
	for _, v := range []float64{
		0, 1, -1, 0.1, -0.25, 1e-6, 9.9e-7, 1e-9, 1e-10, 1e-300, 5e-324, 1<<53 - 1, 1 << 53, -1 << 53, 1 << 62, 1e20, 1e21,
		1.5e22, 1e100, math.MaxFloat64, 1843.2000000000001, 0.30000000000000004,
	} {
		in := record.Event{
			ID: []byte("i"), Organization: []byte("o"), Owner: []byte("o"), Type: []byte("custom"), Name: []byte("n"),
			Web: webOf(nil, map[record.WebNumber]float64{record.Value: v}),
		}
		value := record.AppendEvent(nil, &in)
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(v) < 1<<53 && !strings.Contains(string(value), `"value":`+string(want)+"}") {
			t.Errorf("%v is written as %s, and by encoding/json as %s", v, value, want)
		}
		var out record.Event
		if err := d.DecodeEvent(value, &out); err != nil {
			t.Fatal(err)
		}
		if got, ok := out.Web.Get(record.Value); !ok || got != v {
			t.Errorf("%v became %v, %t", v, got, ok)
		}
	}
}

func TestNumbersThatAreNoneAreNotThere(t *testing.T) {
	t.Parallel()
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, ok := webOf(nil, map[record.WebNumber]float64{record.Value: v}).Get(record.Value); ok {
			t.Errorf("%v is there", v)
		}
	}
}

func TestDecodeEventSaysWhichFieldOfTheWebIsWrong(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ members, field string }{
		"a number for a text":  {`"host":1`, "host"},
		"null for a text":      {`"stack":null`, "stack"},
		"a text for a number":  {`"value":"1"`, "value"},
		"null for a number":    {`"value":null`, "value"},
		"a bad number":         {`"value":-01`, ""},
		"a number beyond all":  {`"value":1e400`, "value"},
		"a minus":              {`"value":-`, "value"},
		"a text twice":         {`"host":"a","host":"b"`, "host"},
		"a number twice":       {`"downlink":1,"host":"a","downlink":1`, "downlink"},
		"invalid UTF-8":        {"\"city\":\"\xff\"", "city"},
		"twice, out of order":  {`"downlink":1,"host":"a","host":"a"`, "host"},
		"a field of all twice": {`"host":"a","id":"i"`, "id"},
	} {
		value := strings.Replace(minimalValue, `"ts":`, tc.members+`,"ts":`, 1)
		var d record.Decoder
		err := d.DecodeEvent([]byte(value), new(record.Event))
		if bad, ok := err.(*record.DecodeError); !ok || bad.Field != tc.field { //nolint:errorlint // it is never wrapped
			t.Errorf("%s: DecodeEvent(%s) = %v, want a DecodeError of field %q", name, value, err, tc.field)
		}
	}
}

func TestWhatANewerWriterAddsBetweenFieldsOfTheWebIsPassedOver(t *testing.T) {
	t.Parallel()
	value := strings.Replace(minimalValue, `"ts":`,
		`"host":"h","added":{"host":"x"},"downlink":2,"title":"t","also":[1],"path":"/","ts":`, 1)
	var d record.Decoder
	var e record.Event
	if err := d.DecodeEvent([]byte(value), &e); err != nil {
		t.Fatal(err)
	}
	want := webOf(map[record.WebText]string{record.Host: "h", record.Title: "t"},
		map[record.WebNumber]float64{record.Downlink: 2})
	if diff := cmp.Diff(want, e.Web); diff != "" || string(e.Path) != "/" {
		t.Errorf("path %q, (-want +got):\n%s", e.Path, diff)
	}
}

// TestSchemasSayOfTheWebWhatTheTablesSay holds the schemas against the tables:
// each field that a schema has is one of them, and each of them is in a schema.
func TestSchemasSayOfTheWebWhatTheTablesSay(t *testing.T) {
	t.Parallel()
	type property struct {
		Description string `json:"description"`
		Type        string `json:"type"`
		MinLength   int    `json:"minLength"`
		MaxLength   int    `json:"maxLength"`
	}
	want := map[string]property{}
	for _, f := range &record.WebTexts {
		want[f.Key] = property{f.Help, "string", 1, f.Max}
	}
	for _, f := range &record.WebNumbers {
		want[f.Key] = property{f.Help, "number", 0, 0}
	}
	if len(want) != record.NumWebTexts+record.NumWebNumbers {
		t.Error("two fields have one name")
	}
	missing := map[string]bool{}
	for key, p := range want {
		missing[key] = true
		if p.Description == "" {
			t.Errorf("%s has no description", key)
		}
	}
	for _, topic := range []string{
		record.TopicEvents, record.TopicVitals, record.TopicErrors, record.TopicIdentities, record.TopicIngestion,
		record.TopicClicks, record.TopicExposures,
	} {
		raw, err := topics.Files.ReadFile(topic + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var schema struct {
			Properties map[string]property `json:"properties"`
		}
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatal(err)
		}
		for key, got := range schema.Properties {
			if w, ok := want[key]; ok {
				delete(missing, key)
				if got != w {
					t.Errorf("%s: %s is %+v, want %+v", topic, key, got, w)
				}
			}
		}
	}
	for key := range missing {
		t.Errorf("no schema has %s", key)
	}
}

// FuzzWebSurvivesEncoding writes fields of arbitrary content.
func FuzzWebSurvivesEncoding(f *testing.F) {
	f.Add("h", "\x00\"\\é", 1.5, -0.5)
	var d record.Decoder
	f.Fuzz(func(t *testing.T, host, stack string, value, downlink float64) {
		e := &event.Event{Kind: event.Error, Name: []byte("n"), EventID: []byte("i")}
		web := webOf(map[record.WebText]string{record.Host: host, record.Stack: stack, record.Message: "m"},
			map[record.WebNumber]float64{record.Value: value, record.Downlink: downlink})
		if string([]rune(host)) != host || string([]rune(stack)) != stack {
			return // not UTF-8
		}
		var b record.Batch
		b.Reset(receipt)
		b.Add(e, target, web)
		var out record.Event
		if err := d.DecodeEvent(b.Records()[0].Value, &out); err != nil {
			t.Fatalf("%v: %s", err, b.Records()[0].Value)
		}
		if string(out.Web.Texts[record.Host]) != host || string(out.Web.Texts[record.Stack]) != stack {
			t.Errorf("%q and %q became %q and %q", host, stack, out.Web.Texts[record.Host], out.Web.Texts[record.Stack])
		}
		for n, v := range map[record.WebNumber]float64{record.Value: value, record.Downlink: downlink} {
			if got, ok := out.Web.Get(n); ok == (math.IsNaN(v) || math.IsInf(v, 0)) || ok && got != v {
				t.Errorf("%v became %v, %t", v, got, ok)
			}
		}
	})
}

func TestWebFieldsOfOneRequestDoNotMix(t *testing.T) {
	t.Parallel()
	var b record.Batch
	b.Reset(receipt)
	e := &event.Event{Name: []byte("n"), EventID: []byte("i")}
	web := webOf(map[record.WebText]string{record.City: "Graz"}, nil)
	b.Add(e, target, web)
	copy(web.Texts[record.City], "Wien")
	b.Add(e, target, web)
	b.Add(e, target, nil)
	var got []string
	records := b.Records()
	for i := range records {
		recordtest.Validate(t, &records[i])
		city := ""
		if w := decoded(t, &records[i]).Web; w != nil {
			city = string(w.Texts[record.City])
		}
		got = append(got, city)
	}
	if diff := cmp.Diff([]string{"Graz", "Wien", ""}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
