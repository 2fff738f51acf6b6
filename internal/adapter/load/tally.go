package load

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// NoResponse is in Statuses for the status of a request that got no response.
const NoResponse = "none"

// The latencies that are told apart: microseconds up to an hour, by three digits.
const (
	longest = time.Hour
	digits  = 3
)

// tally is what a run has seen so far.
type tally struct {
	requests, units  int
	accepted, failed int
	unsent           int
	statuses         map[string]int
	firstError       string
	// latency counts from when a request was due, service from when it was sent.
	latency, service *hdrhistogram.Histogram
	// Since the last line of progress.
	recent         *hdrhistogram.Histogram
	recentUnits    int
	recentBegun    time.Duration
	recentAccepted int
}

func newTally() *tally {
	h := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, longest.Microseconds(), digits) }
	return &tally{statuses: map[string]int{}, latency: h(), service: h(), recent: h()}
}

func (t *tally) count(units int, v Verdict, status int, err error, latency, service time.Duration) {
	t.requests++
	t.units += units
	t.accepted += v.Accepted
	t.failed += v.Failed
	t.recentUnits += units
	t.recentAccepted += v.Accepted
	name := strconv.Itoa(status)
	if err != nil {
		name = NoResponse
		if t.firstError == "" {
			t.firstError = err.Error()
		}
	}
	t.statuses[name]++
	record(t.latency, latency)
	record(t.recent, latency)
	record(t.service, service)
}

func record(h *hdrhistogram.Histogram, d time.Duration) {
	// In the range, so it does not fail.
	_ = h.RecordValue(min(max(1, d.Microseconds()), longest.Microseconds()))
}

// progress is a line about what came since the one before.
func (t *tally) progress(unit string, since time.Duration) string {
	seconds := max((since - t.recentBegun).Seconds(), 0.001)
	line := fmt.Sprintf("%4.0fs  %9.0f %s/s sent  %9.0f/s accepted  p50 %7.2f ms  p99 %8.2f ms  %s",
		since.Seconds(), float64(t.recentUnits)/seconds, unit, float64(t.recentAccepted)/seconds,
		millis(t.recent.ValueAtQuantile(50)), millis(t.recent.ValueAtQuantile(99)), t.byStatus())
	t.recent.Reset()
	t.recentUnits, t.recentAccepted, t.recentBegun = 0, 0, since
	return line
}

func (t *tally) byStatus() string {
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(t.statuses)) {
		parts = append(parts, fmt.Sprintf("%s: %d", status, t.statuses[status]))
	}
	return strings.Join(parts, "  ")
}

func millis(micros int64) float64 { return float64(micros) / 1000 }
