package alerts

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/prometheus/rules"
)

// partly is ten minutes in which of everything that is asked a known share fails.
var partly = series{
	`millrace_http_requests_total{host="ingestion",route="/track",status="200"}`: "0+995x10",
	`millrace_http_requests_total{host="ingestion",route="/track",status="503"}`: "0+5x10",
	`millrace_http_requests_total{host="query",route="/v1/query",status="200"}`:  "0+98x10",
	`millrace_http_requests_total{host="query",route="/v1/query",status="500"}`:  "0+2x10",

	`millrace_http_request_duration_seconds_count{host="ingestion",route="/track"}`:              "0+100x10",
	`millrace_http_request_duration_seconds_bucket{host="ingestion",route="/track",le="0.128"}`:  "0+90x10",
	`millrace_http_request_duration_seconds_count{host="ingestion",route="/health"}`:             "0+500x10",
	`millrace_http_request_duration_seconds_bucket{host="ingestion",route="/health",le="0.128"}`: "0+500x10",
	`millrace_http_request_duration_seconds_count{host="query",route="/v1/query"}`:               "0+100x10",
	`millrace_http_request_duration_seconds_bucket{host="query",route="/v1/query",le="1.024"}`:   "0+97x10",

	`millrace:stale_partitions:ratio`: "0x5 0.5x5",

	`millrace_probe_attempts_total{outcome="seen"}`:      "0+3x10",
	`millrace_probe_attempts_total{outcome="not_seen"}`:  "0+1x10",
	`millrace_probe_end_to_end_seconds_bucket{le="60"}`:  "0+3x10",
	`millrace_probe_end_to_end_seconds_bucket{le="120"}`: "0+3x10",
}

func TestObjectivesAreMeasuredByWhatFailsOfThem(t *testing.T) {
	t.Parallel()
	want := map[string]float64{
		"acknowledgement_availability": 0.005, "acknowledgement_latency": 0.1, "freshness": 0.5,
		"end_to_end": 0.25, "query_availability": 0.02, "query_latency": 0.03,
	}
	loaded, _ := load(t, partly)
	ask, measured := rules.EngineQueryFunc(loaded.QueryEngine(), loaded.Storage()), 0
	for _, r := range allRules(t) {
		if r.Record != "millrace:slo_error_ratio:rate5m" {
			continue
		}
		got, err := ask(t.Context(), r.Expr, time.Unix(0, 0).Add(10*step))
		if err != nil || len(got) != 1 || math.Abs(got[0].F-want[r.Labels["slo"]]) > 1e-9 {
			t.Errorf("%s: %v, %v; want %v", r.Labels["slo"], got, err, want[r.Labels["slo"]])
		}
		measured++
	}
	if measured != len(want) {
		t.Errorf("%d objectives are measured, want %d", measured, len(want))
	}
}

func TestWithoutTrafficNoObjectiveIsMissed(t *testing.T) {
	t.Parallel()
	loaded, _ := load(t, series{`millrace_http_requests_total{host="query",route="/v1/query",status="200"}`: "7x10"})
	ask := rules.EngineQueryFunc(loaded.QueryEngine(), loaded.Storage())
	for _, r := range allRules(t) {
		if r.Record != "millrace:slo_error_ratio:rate5m" {
			continue
		}
		got, err := ask(t.Context(), "("+r.Expr+") > 0", time.Unix(0, 0).Add(10*step))
		if err != nil || len(got) != 0 {
			t.Errorf("%s: %v, %v", r.Labels["slo"], got, err)
		}
	}
}
