package record_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/contract/record/recordtest"
)

func TestEveryFieldOfAClickSurvivesEncoding(t *testing.T) {
	t.Parallel()
	var r record.ClickRecord
	for name, in := range goldenClicks() {
		r.Set(in, nil)
		recordtest.Validate(t, &r.Record)
		var d record.Decoder
		var out record.Event
		if err := d.DecodeEvent(r.Value, &out); err != nil {
			t.Fatal(err)
		}
		in.Version = record.EventVersion
		if diff := cmp.Diff(*in, out); diff != "" {
			t.Errorf("%s (-written +read):\n%s", name, diff)
		}
	}
}

// A record without a request's id is known by the click's.
func TestAClicksRecordNamesARequest(t *testing.T) {
	t.Parallel()
	e := goldenClicks()["click"]
	for given, want := range map[string]string{"": string(e.ID), "req-1": "req-1"} {
		var r record.ClickRecord
		r.Set(e, []byte(given))
		h, err := record.ParseHeaders(r.Headers)
		if err != nil || string(h.RequestID) != want || h.Website == nil || len(h.Website) > 0 {
			t.Errorf("given %q: request %q, website %q, %v", given, h.RequestID, h.Website, err)
		}
	}
}

func TestAClicksRecordKeepsNothingOfTheClick(t *testing.T) {
	t.Parallel()
	e := goldenClicks()["click"]
	var r record.ClickRecord
	r.Set(e, nil)
	before := [][]byte{bytes.Clone(r.Key), bytes.Clone(r.Value)}
	e.Click.Link[0], e.ID[0], e.Organization[0] = 'X', 'X', 'X'
	if !bytes.Equal(before[0], r.Key) || !bytes.Equal(before[1], r.Value) {
		t.Error("the record changes with what it was made of")
	}
	recordtest.Validate(t, &r.Record)
}

//nolint:paralleltest // allocations are counted
func TestAClicksRecordAllocatesNothingOnceItsMemoryHasGrown(t *testing.T) {
	e := goldenClicks()["click"]
	var r record.ClickRecord
	r.Set(e, nil)
	if n := testing.AllocsPerRun(100, func() { r.Set(e, nil) }); n > 0 {
		t.Errorf("%.1f allocations", n)
	}
}

func TestDecodeEventSaysWhichFieldOfAClickIsWrong(t *testing.T) {
	t.Parallel()
	const value = `{"v":1,"id":"i","organization":"o","owner":"l","type":"click","name":"click","ts":1,"receivedAt":1,"link":"l","status":302}`
	for name, tc := range map[string]struct{ members, field string }{
		"a number for a text":  {`"visitor":1`, "visitor"},
		"a text for a truth":   {`"isQr":"true"`, "isQr"},
		"a number for a truth": {`"isBot":1`, "isBot"},
		"a text for a status":  {`"status":"302"`, "status"},
		"twice":                {`"ruleId":"a","ruleId":"a"`, "ruleId"},
	} {
		var d record.Decoder
		err := d.DecodeEvent([]byte(strings.Replace(value, `"ts":`, tc.members+`,"ts":`, 1)), new(record.Event))
		if bad, _ := errors.AsType[*record.DecodeError](err); bad == nil || bad.Field != tc.field {
			t.Errorf("%s: %v, want field %q", name, err, tc.field)
		}
	}
}

func TestAnEventAfterAClickHasNothingOfIt(t *testing.T) {
	t.Parallel()
	var r record.ClickRecord
	var d record.Decoder
	var e record.Event
	clicks := goldenClicks()
	for _, value := range []*record.Event{clicks["click"], clicks["click-minimal"]} {
		r.Set(value, nil)
		if err := d.DecodeEvent(r.Value, &e); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(clicks["click-minimal"].Click, e.Click); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := d.DecodeEvent([]byte(minimalValue), &e); err != nil || e.Click != nil {
		t.Errorf("an event has the click %+v, %v", e.Click, err)
	}
}
