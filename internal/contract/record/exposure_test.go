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

func TestEveryFieldOfAnExposureSurvivesEncoding(t *testing.T) {
	t.Parallel()
	var r record.ExposureRecord
	for name, in := range goldenExposures() {
		r.Set(in)
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

func TestAnExposuresRecordKeepsNothingOfTheExposure(t *testing.T) {
	t.Parallel()
	e := goldenExposures()["exposure"]
	var r record.ExposureRecord
	r.Set(e)
	before := [][]byte{bytes.Clone(r.Key), bytes.Clone(r.Value)}
	e.Website[0], e.ID[0], e.ProfileID[0], e.Exposure.Variant[0] = 'X', 'X', 'X', 'X'
	if !bytes.Equal(before[0], r.Key) || !bytes.Equal(before[1], r.Value) {
		t.Error("the record changes with what it was made of")
	}
	recordtest.Validate(t, &r.Record)
}

func TestAnExposuresRecordAllocatesNothing(t *testing.T) { //nolint:paralleltest // allocations are counted
	e := goldenExposures()["exposure"]
	var r record.ExposureRecord
	r.Set(e)
	if n := testing.AllocsPerRun(100, func() { r.Set(e) }); n > 0 {
		t.Errorf("%.1f allocations", n)
	}
}

func TestDecodeEventSaysWhichFieldOfAnExposureIsWrong(t *testing.T) {
	t.Parallel()
	const value = `{"v":1,"id":"i","organization":"o","website":"w","owner":"w","type":"exposure","name":"f",` +
		`"ts":1,"receivedAt":1,"variant":"on","samplePercent":100}`
	for name, tc := range map[string]struct{ members, field string }{
		"a number for a text":   {`"environment":1`, "environment"},
		"a text for a share":    {`"samplePercent":"1"`, "samplePercent"},
		"a fraction of a share": {`"samplePercent":1.5`, "samplePercent"},
		"twice":                 {`"reason":"split","reason":"split"`, "reason"},
	} {
		var d record.Decoder
		err := d.DecodeEvent([]byte(strings.Replace(value, `"ts":`, tc.members+`,"ts":`, 1)), new(record.Event))
		if bad, _ := errors.AsType[*record.DecodeError](err); bad == nil || bad.Field != tc.field {
			t.Errorf("%s: %v, want field %q", name, err, tc.field)
		}
	}
}

func TestAnEventAfterAnExposureHasNothingOfIt(t *testing.T) {
	t.Parallel()
	var r record.ExposureRecord
	var d record.Decoder
	var e record.Event
	all := goldenExposures()
	for _, value := range []*record.Event{all["exposure"], all["exposure-minimal"]} {
		r.Set(value)
		if err := d.DecodeEvent(r.Value, &e); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(all["exposure-minimal"].Exposure, e.Exposure); diff != "" || e.Click != nil {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := d.DecodeEvent([]byte(minimalValue), &e); err != nil || e.Exposure != nil {
		t.Errorf("an event has the exposure %+v, %v", e.Exposure, err)
	}
}
