package main

var overview = board{
	name: "overview", title: "Millrace / Overview",
	about: "Whether callers get what they were promised, and where to look next.",
	rows: []row{
		{"Objectives, over the last hour", []panel{
			{
				title: "Failing share by objective", about: "What is asked and fails its objective, over an hour; the budget of " +
					"30 days is 0.1 % for availability and 1 % for the others.",
				unit: share, kind: bars, warn: 0.001, page: 0.01,
				queries: []q{{"millrace:slo_error_ratio:rate1h", "{{namespace}} {{slo}}"}},
			},
			{
				title: "Error budget left, 3 days",
				about: "How much of three days' budget is left. Below zero more has failed than three days may have.",
				unit:  share,
				// Several installations have recorded both, each in its namespace.
				queries: []q{
					{"1 - millrace:slo_error_ratio:rate3d / on (namespace, slo) millrace:slo_error_budget", "{{namespace}} {{slo}}"},
				},
			},
			{
				title: "Alerts that fire", about: "Alerts of deploy/prometheus by severity.", unit: count, kind: number, warn: 1,
				page: 1,
				queries: []q{
					{`sum by (severity) (ALERTS{alertname=~"Millrace.*",alertstate="firing"}) or vector(0)`, "{{severity}}"},
				},
			},
		}},
		{"The path of an event", []panel{
			{
				title: "Events", about: "Events that arrive, are acknowledged, and are stored.", unit: eventsPerSec,
				queries: []q{
					{rate("millrace_ingest_events_received_total", "", ""), "received"},
					{rate("millrace_ingest_events_total", `outcome="accepted"`, ""), "accepted"},
					{rate("millrace_sink_records_total", `outcome="stored"`, ""), "stored"},
				},
			},
			{
				title: "Acknowledgement", about: "From handing a request's records to Kafka to the last acknowledgement.",
				unit: seconds, warn: 0.1, page: 0.5,
				queries: quantiles("millrace_kafka_ack_duration_seconds", `client="ingest-edge"`),
			},
			{
				title: "Lag", about: "Age of the oldest event that is not stored, by topic.", unit: seconds, warn: 60, page: 300,
				queries: []q{{"max by (topic) (millrace_sink_lag_seconds)", "{{topic}}"}},
			},
			{
				title: "End to end",
				about: "Time from sending the probe's event to seeing it counted; empty while probe.interval is 0.", unit: seconds,
				warn: 10, page: 60,
				queries: []q{{"max(millrace_probe_end_to_end_last_seconds)", "last probe"}},
			},
			{
				title: "Answers by status", about: "Requests to each host by status.", unit: perSecond,
				queries: []q{{rate("millrace_http_requests_total", "", "host, status"), "{{host}} {{status}}"}},
			},
			{
				title: "Queries", about: "Time of requests to /v1/query.", unit: seconds, warn: 4,
				queries: quantiles("millrace_http_request_duration_seconds", `host="query",route="/v1/query"`),
			},
		}},
		{"Processes", []panel{
			{
				title: "Instances", about: "Processes by component and version.", unit: count,
				queries: []q{{"count by (component, version) (millrace_build_info)", "{{component}} {{version}}"}},
			},
			{
				title: "Not ready", about: "1 for a process that is not ready; /readyz of its admin listener says why.",
				unit: yesNo, page: 1,
				queries: []q{{"1 - min by (instance) (millrace_ready)", "{{instance}}"}},
			},
			{
				title: "Processor", about: "Cores that each process uses.", unit: count,
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
				title: "Goroutines", about: "A number that only grows is a leak.", unit: count,
				queries: []q{
					{"go_goroutines * on (job, instance) group_left (component) millrace_build_info", "{{component}} {{instance}}"},
				},
			},
			{
				title: "Garbage collection", about: "Longest pause of the last collections.", unit: seconds,
				queries: []q{{
					`go_gc_duration_seconds{quantile="1"} * on (job, instance) group_left (component) millrace_build_info`,
					"{{component}} {{instance}}",
				}},
			},
		}},
	},
}
