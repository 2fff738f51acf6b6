package main

import (
	"fmt"
	"strings"
	"time"
)

// objective is something promised to callers: what share of what they ask for may
// fail over 30 days.
type objective struct {
	name   string
	about  string  // for whoever reads the file
	budget float64 // share that may fail
	errors string  // of a window, as an expression with %[1]s in place of it
	total  string  // likewise; empty where errors is a share already
}

// The bucket of a histogram up to which a response is in time. Those of requests are
// half a millisecond times powers of two; Prometheus 3 writes a whole number as 60.0.
const (
	ackWithin   = "0.128"
	queryWithin = "1.024"
	seenWithin  = "60"
)

const sending = `host="ingestion",route=~"/(track|batch|vitals|errors|engagement|identify|px.jpg)?"`

var objectives = []objective{
	{
		"acknowledgement_availability", "99.9 % of requests to the ingestion host are not answered 5xx", 0.001,
		`(sum(rate(millrace_http_requests_total{host="ingestion",status=~"5.."}[%[1]s])) or vector(0))`,
		`sum(rate(millrace_http_requests_total{host="ingestion"}[%[1]s]))`,
	},
	{
		"acknowledgement_latency", "99 % of events are acknowledged within " + ackWithin + " s", 0.01,
		slower("millrace_http_request_duration_seconds", sending, ackWithin),
		`sum(rate(millrace_http_request_duration_seconds_count{` + sending + `}[%[1]s]))`,
	},
	{
		"freshness", "in 99 % of partitions, over time, the oldest unstored event is at most " + seenWithin + " s old",
		0.01, "avg_over_time(millrace:stale_partitions:ratio[%[1]s])", "",
	},
	{
		"end_to_end", "99 % of probe events are counted within " + seenWithin + " s", 0.01,
		`(sum(rate(millrace_probe_attempts_total[%[1]s])) - sum(rate(millrace_probe_end_to_end_seconds_bucket{le=~"` +
			seenWithin + `([.]0)?"}[%[1]s])))`,
		"sum(rate(millrace_probe_attempts_total[%[1]s]))",
	},
	{
		"query_availability", "99.9 % of requests to the query host are not answered 5xx", 0.001,
		`(sum(rate(millrace_http_requests_total{host="query",status=~"5.."}[%[1]s])) or vector(0))`,
		`sum(rate(millrace_http_requests_total{host="query"}[%[1]s]))`,
	},
	{
		"query_latency", "99 % of queries are answered within " + queryWithin + " s", 0.01,
		slower("millrace_http_request_duration_seconds", `host="query",route="/v1/query"`, queryWithin),
		`sum(rate(millrace_http_request_duration_seconds_count{host="query",route="/v1/query"}[%[1]s]))`,
	},
}

// slower is the rate of what is not in a histogram's bucket.
func slower(metric, labels, within string) string {
	return fmt.Sprintf("(sum(rate(%[1]s_count{%[2]s}[%%[1]s])) - sum(rate(%[1]s_bucket{%[2]s,le=%[3]q}[%%[1]s])))",
		metric, labels, within)
}

// windows are those that burn rates are told over: each alert looks at a long one
// and at a short one, which ends it soon after what is wrong has ended.
var windows = []time.Duration{
	5 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 24 * time.Hour, 3 * 24 * time.Hour,
}

// span writes a window as Prometheus does.
func span(d time.Duration) string {
	switch {
	case d%(24*time.Hour) == 0:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}

// render writes the file of rules.
func render() string {
	var b strings.Builder
	b.WriteString(
		"# Generated from the table in tools/rules by `make generate`. Do not edit.\n#\n# Objectives over 30 days:\n")
	for _, o := range objectives {
		fmt.Fprintf(&b, "#   %s: %s\n", o.name, o.about)
	}
	b.WriteString("groups:\n  - name: millrace-objectives-of-now\n    rules:\n")
	record(&b, "millrace:stale_partitions:ratio", "",
		fmt.Sprintf(`avg(millrace_sink_lag_seconds{lane!="backfill"} > bool %s)`, seenWithin))
	for _, o := range objectives {
		record(&b, "millrace:slo_error_budget", o.name, fmt.Sprintf("vector(%g)", o.budget))
	}
	for _, w := range windows {
		fmt.Fprintf(&b, "  - name: millrace-objectives-%s\n    rules:\n", span(w))
		for _, o := range objectives {
			expr := fmt.Sprintf(o.errors, span(w))
			if o.total != "" {
				expr += "\n  / " + fmt.Sprintf(o.total, span(w))
			}
			record(&b, "millrace:slo_error_ratio:rate"+span(w), o.name, expr)
		}
	}
	return b.String()
}

func record(b *strings.Builder, name, slo, expr string) {
	fmt.Fprintf(b, "      - record: %s\n        expr: |-\n          %s\n",
		name, strings.ReplaceAll(expr, "\n", "\n          "))
	if slo != "" {
		fmt.Fprintf(b, "        labels:\n          slo: %s\n", slo)
	}
}
