package main

import (
	"math"
	"strings"
	"testing"
)

func TestARatioIsTheMedianOfItsRoundsBesideTheirSpread(t *testing.T) {
	t.Parallel()
	f := newFigures(settings{rounds: 3})
	f.rates = map[string][]float64{"a": {50, 90, 40}, "b": {100, 100, 50}, "c": {100, 100, 50}, "once": {7}}
	f.micros = map[string][]float64{"a": {4, 5, 6}, "b": {2, 1, 3}, "c": {1, 1, 1}}
	for name, tc := range map[string]struct {
		of, limit string
		want      compared
	}{
		"another measure":      {"a", "b", compared{0.8, 0.5, 0.9, 5, 2}},
		"two after each other": {"a", "b+c", compared{1.6, 1, 1.8, 5, 3}},
		"a figure":             {"a", "=100", compared{0.5, 0.4, 0.9, 5, 0}},
		"measured once":        {"once", "=7", compared{1, 1, 1, 0, 0}},
	} {
		got, ok := f.of(ratio{of: tc.of, limit: tc.limit})
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
		if !ok || !near(got.median, tc.want.median) || !near(got.low, tc.want.low) || !near(got.high, tc.want.high) ||
			!near(got.micros, tc.want.micros) || !near(got.limit, tc.want.limit) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, ok, tc.want)
		}
	}
	for _, r := range []ratio{
		{of: "a", limit: "none"}, {of: "none", limit: "a"}, {of: "none", limit: "=1"}, {of: "a", limit: "once"},
	} {
		if got, ok := f.of(r); ok {
			t.Errorf("%s against %s, which was not measured as often: %+v", r.of, r.limit, got)
		}
	}
}

func TestAGateIsMissedByTheMedian(t *testing.T) {
	t.Parallel()
	f := newFigures(settings{rounds: 3})
	for _, r := range ratios {
		if r.name == "B1" {
			f.rates = map[string][]float64{r.of: {r.gate, r.gate, 0.1}, r.limit: {1, 1, 1}}
		}
	}
	if !f.pass() || !strings.Contains(f.markdown(), "0.75 | 0.10 – 0.75 | 0.75 | holds") {
		t.Errorf("a gate that holds in two rounds of three is missed:\n%s", f.markdown())
	}
	for _, r := range ratios {
		if r.name == "B1" {
			f.rates[r.of] = []float64{9, r.gate - 0.01, r.gate - 0.01}
		}
	}
	if f.pass() || !strings.Contains(f.markdown(), "**missed**") {
		t.Errorf("one that is missed in two rounds of three holds:\n%s", f.markdown())
	}
}
