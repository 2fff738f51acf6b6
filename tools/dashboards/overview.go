package main

var overview = board{
	name: "overview", title: "Millrace / Overview",
	about: "Whether the service meets its objectives, and which dashboard to open next.",
	rows: []row{
		{"Objectives, over the last hour", []panel{
			{
				title: "Failing share by objective",
				about: "Share of requests that missed the objective over one hour. The 30-day budget is 0.1 % for availability " +
					"and 1 % for the others.",
				unit: share, kind: bars, warn: 0.001, page: 0.01,
				queries: []q{{"millrace:slo_error_ratio:rate1h", "{{namespace}} {{slo}}"}},
			},
			{
				title: "Error budget left, 3 days",
				about: "Remaining share of the error budget of three days. Below zero the budget is exceeded.",
				unit:  share,
				// Several installations have recorded both, each in its namespace.
				queries: []q{
					{"1 - millrace:slo_error_ratio:rate3d / on (namespace, slo) millrace:slo_error_budget", "{{namespace}} {{slo}}"},
				},
			},
			{
				title: "Firing alerts",
				about: "Firing alerts of deploy/prometheus by severity.",
				unit:  count, kind: number, warn: 1,
				page: 1,
				queries: []q{
					{`sum by (severity) (ALERTS{alertname=~"Millrace.*",alertstate="firing"}) or vector(0)`, "{{severity}}"},
				},
			},
		}},
		{"The path of an event", []panel{
			{
				title: "Events", about: "Events received, acknowledged and stored.", unit: eventsPerSec,
				queries: []q{
					{rate("millrace_ingest_events_received_total", "", ""), "received"},
					{rate("millrace_ingest_events_total", `outcome="accepted"`, ""), "accepted"},
					{rate("millrace_sink_records_total", `outcome="stored"`, ""), "stored"},
				},
			},
			{
				title: "Acknowledgement time", about: "Time from publishing the records of a request to the last acknowledgement.",
				unit: seconds, warn: 0.1, page: 0.5,
				queries: quantiles("millrace_kafka_ack_duration_seconds", `client="ingest-edge"`),
			},
			{
				title: "Lag", about: "Age of the oldest event that is not stored, by topic.", unit: seconds, warn: 60, page: 300,
				queries: []q{{"max by (topic) (millrace_sink_lag_seconds)", "{{topic}}"}},
			},
			{
				title: "End to end",
				about: "Time from sending a probe event until a query counts it. Empty while probe.interval is 0.", unit: seconds,
				warn: 10, page: 60,
				queries: []q{{"max(millrace_probe_end_to_end_last_seconds)", "last probe"}},
			},
			{
				title: "Responses by status", about: "Completed requests by host and status.", unit: perSecond,
				queries: []q{{rate("millrace_http_requests_total", "", "host, status"), "{{host}} {{status}}"}},
			},
			{
				title: "Query time", about: "Duration of requests to /v1/query.", unit: seconds, warn: 4,
				queries: quantiles("millrace_http_request_duration_seconds", `host="query",route="/v1/query"`),
			},
		}},
		{"Processes", []panel{
			{
				title: "Instances", about: "Processes by component and version.", unit: count,
				queries: []q{{"count by (component, version) (millrace_build_info)", "{{component}} {{version}}"}},
			},
			{
				title: "Not ready",
				about: "1 for a process that is not ready. /readyz of its admin listener names the failing checks.",
				unit:  yesNo, page: 1,
				queries: []q{{"1 - min by (instance) (millrace_ready)", "{{instance}}"}},
			},
			{
				title: "Processor", about: "Cores used by each process.", unit: count,
				queries: []q{
					{"rate(process_cpu_seconds_total[$__rate_interval]) * on (job, instance) group_left (component) " +
						"millrace_build_info", "{{component}} {{instance}}"},
				},
			},
			{
				title: "Memory", about: "Resident memory of each process.", unit: bytesIEC,
				queries: []q{{
					"process_resident_memory_bytes * on (job, instance) group_left (component) millrace_build_info",
					"{{component}} {{instance}}",
				}},
			},
			{
				title: "Goroutines", about: "Goroutines of each process. Steady growth indicates a leak.", unit: count,
				queries: []q{
					{"go_goroutines * on (job, instance) group_left (component) millrace_build_info", "{{component}} {{instance}}"},
				},
			},
			{
				title: "Garbage collection", about: "Longest pause of the last garbage collections.", unit: seconds,
				queries: []q{{
					`go_gc_duration_seconds{quantile="1"} * on (job, instance) group_left (component) millrace_build_info`,
					"{{component}} {{instance}}",
				}},
			},
		}},
	},
}
