package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/adapter/load"
	"github.com/millrace/millrace/internal/contract/record"
)

func TestTheGuideSaysWhatABillionEventsCost(t *testing.T) {
	t.Parallel()
	at := func(rate float64, accepted int, used usage) run {
		return run{used: used, report: &load.Report{
			Seconds: 100, RateReached: rate, RateAccepted: rate, Accepted: accepted,
		}}
	}
	c := &costs{
		runs: []run{
			at(1000, 100_000, usage{edge: 5, sink: 4, clickhouse: 70}),
			at(8000, 800_000, usage{edge: 18, sink: 14.4, clickhouse: 108}), // 22.5, 18 and 135 µs an event
		},
		topics: map[string]volume{record.TopicEvents: {rows: 1000, bytes: 225_000}},
		tables: map[string]volume{"events": {rows: 1000, bytes: 80_000}, "events_15m": {rows: 10, bytes: 18_000}},
	}
	guide := filepath.Join(t.TempDir(), "capacity.md")
	if err := os.WriteFile(guide, []byte("# Before\n"+guideBegin+"old\n"+guideEnd+"# After\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.fillGuide(guide); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# Before\n", "# After\n", "A billion events, sent at 8000 a second,",
		"| 6.2 | 5.0 | 37.5 | 48.8 | 225 GB | 98 GB |\n", "| 100 | 259 million |",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the guide lacks %q:\n%s", want, text)
		}
	}
}
