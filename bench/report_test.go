package main

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
)

func TestARatioIsTheMedianOfItsRoundsBesideTheirSpread(t *testing.T) {
	t.Parallel()
	f := newFigures(settings{rounds: 3})
	f.rates = map[string]series{
		"a": of(50, 90, 40), "b": of(100, 100, 50), "c": of(100, 100, 50), "once": of(7), "later": {2: 50}, "never": {},
	}
	f.micros = map[string]series{"a": of(4, 5, 6), "b": of(2, 1, 3), "c": of(1, 1, 1)}
	for name, tc := range map[string]struct {
		of, limit string
		want      compared
	}{
		"another measure":      {"a", "b", compared{0.8, 0.5, 0.9, 5, 2}},
		"two after each other": {"a", "b+c", compared{1.6, 1, 1.8, 5, 3}},
		"a figure":             {"a", "=100", compared{0.5, 0.4, 0.9, 5, 0}},
		"measured once":        {"once", "=7", compared{1, 1, 1, 0, 0}},
		"the rounds of both":   {"a", "later", compared{0.8, 0.8, 0.8, 5, 0}},
		"the first of three":   {"a", "once", compared{50. / 7, 50. / 7, 50. / 7, 5, 0}},
	} {
		got, ok := f.of(ratio{of: tc.of, limit: tc.limit})
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
		if !ok || !near(got.median, tc.want.median) || !near(got.low, tc.want.low) || !near(got.high, tc.want.high) ||
			!near(got.micros, tc.want.micros) || !near(got.limit, tc.want.limit) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, ok, tc.want)
		}
	}
	for _, r := range []ratio{
		{of: "a", limit: "none"},
		{of: "none", limit: "a"},
		{of: "none", limit: "=1"},
		{of: "later", limit: "once"},
		{of: "a", limit: "b+none"},
		{of: "never", limit: "=1"},
	} {
		if got, ok := f.of(r); ok {
			t.Errorf("%s against %s, which was not measured in a round of it: %+v", r.of, r.limit, got)
		}
	}
}

func TestAGateIsMissedByTheMedian(t *testing.T) {
	t.Parallel()
	f := newFigures(settings{rounds: 3})
	for _, r := range ratios {
		if r.name == "B1" {
			f.rates = map[string]series{r.of: of(r.gate, r.gate, 0.1), r.limit: of(1, 1, 1)}
		}
	}
	if !f.pass() || !strings.Contains(f.markdown(), "0.75 | 0.10 – 0.75 | 0.75 | holds") {
		t.Errorf("a gate that holds in two rounds of three is missed:\n%s", f.markdown())
	}
	for _, r := range ratios {
		if r.name == "B1" {
			f.rates[r.of] = of(9, r.gate-0.01, r.gate-0.01)
		}
	}
	if f.pass() || !strings.Contains(f.markdown(), "**missed**") {
		t.Errorf("one that is missed in two rounds of three holds:\n%s", f.markdown())
	}
}

func TestWhatFailsIsToldAndTheOthersStay(t *testing.T) {
	t.Parallel()
	f := newFigures(settings{rounds: 1})
	ran := 0
	works := &measure{name: "bare", unit: "req/s", run: func(context.Context, *measure, *surroundings) (result, error) {
		ran++
		return result{Events: 10, Seconds: 2}, nil
	}}
	fails := &measure{name: "catchup", run: func(context.Context, *measure, *surroundings) (result, error) {
		return result{}, errors.New("the broker is away")
	}}
	if err := f.round(t.Context(), []*measure{works, fails, works}, &surroundings{}); err != nil {
		t.Fatal(err)
	}
	const told = "`catchup` failed in round 1: the broker is away."
	if ran != 1 || f.rates["bare"][0] != 5 || f.pass() || !strings.Contains(f.markdown(), told) {
		t.Errorf("%d ran, %v, passes %v:\n%s", ran, f.rates, f.pass(), f.markdown())
	}
}

// of is a series of rounds from the first.
func of(values ...float64) series {
	s := series{}
	for round, v := range values {
		s[round] = v
	}
	return s
}
