package main

const ofEdge = `host="ingestion",instance=~"$instance"`

var edge = board{
	name: "edge", title: "Millrace / Edge", component: "ingest-edge",
	about: "The ingestion host: what callers send, what becomes of it, and what it waits for.",
	rows: []row{
		{"Requests and events", []panel{
			{
				title:   "Requests by route",
				about:   "Answered requests.",
				unit:    perSecond,
				queries: []q{{rate("millrace_http_requests_total", ofEdge, "route"), "{{route}}"}},
			},
			{
				title:   "Answers by status",
				about:   "Answered requests by status.",
				unit:    perSecond,
				queries: []q{{rate("millrace_http_requests_total", ofEdge, "status"), "{{status}}"}},
			},
			{title: "Share of 5xx", about: "Above 1 % for five minutes it pages.", unit: share, page: 0.01, queries: []q{{
				"(" + rate("millrace_http_requests_total", ofEdge+`,status=~"5.."`, "") + " or vector(0)) / " +
					rate("millrace_http_requests_total", ofEdge, ""),
				"5xx",
			}}},
			{
				title: "Events by outcome",
				about: "What became of the events that arrived; all outcomes together are what was received.",
				unit:  eventsPerSec,
				queries: []q{
					{rate("millrace_ingest_events_total", `instance=~"$instance"`, "outcome"), "{{outcome}}"},
				},
			},
			{
				title: "Refused by step",
				about: "Requests refused, by the step that refused them and the code.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_ingest_requests_refused_total", `instance=~"$instance"`, "step, code"), "{{step}} {{code}}"},
				},
			},
			{
				title:   "Request time",
				about:   "From a request's header to its answer being ready.",
				unit:    seconds,
				queries: quantiles("millrace_http_request_duration_seconds", ofEdge),
			},
		}},
		{"Kafka", []panel{
			{
				title:   "Acknowledgement",
				about:   "From handing a request's records over to the last acknowledgement.",
				unit:    seconds,
				warn:    0.1,
				page:    0.5,
				queries: quantiles("millrace_kafka_ack_duration_seconds", `client="ingest-edge",instance=~"$instance"`),
			},
			{
				title: "Records not acknowledged yet",
				about: "Share of kafka.max_buffered_bytes; at 100 % requests are answered 503.",
				unit:  share,
				warn:  0.8,
				queries: []q{
					{`millrace_kafka_publish_buffered_bytes{instance=~"$instance"} / millrace_kafka_publish_buffer_limit_bytes{instance=~"$instance"}`, "{{instance}} {{client}}"},
				},
			},
			{
				title:   "Broker reached",
				about:   "1 while a broker answers.",
				unit:    yesNo,
				queries: []q{{`millrace_kafka_up{client="ingest-edge",instance=~"$instance"}`, "{{instance}}"}},
			},
			{
				title:   "Records given up",
				about:   "By the broker's code.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_kafka_produce_errors_total", `instance=~"$instance"`, "code"), "{{code}}"}},
			},
			{title: "Publications not confirmed", about: "By reason; each was a 503.", unit: perSecond, queries: []q{
				{rate("millrace_kafka_publish_failures_total",
					`client="ingest-edge",instance=~"$instance"`, "reason"), "{{reason}}"},
			}},
			{
				title: "Late and unconfirmed",
				about: "Records acknowledged after their request had been answered 503, and events that may be stored although " +
					"theirs was refused. Both are counted once when they are sent again.",
				unit: eventsPerSec,
				queries: []q{
					{rate("millrace_kafka_late_acks_total", `instance=~"$instance"`, ""), "late acknowledgements"},
					{rate("millrace_ingest_events_unconfirmed_total", `instance=~"$instance"`, ""), "unconfirmed events"},
				},
			},
		}},
		{"Room", []panel{
			{
				title:   "Refused for want of room",
				about:   "By reason: memory, the caller's share of it, or the queue.",
				unit:    perSecond,
				queries: []q{{rate("millrace_admission_refused_total", `instance=~"$instance"`, "reason"), "{{reason}}"}},
			},
			{
				title: "Memory of requests",
				about: "Claimed by requests in flight, and held by records of requests that were given up.",
				unit:  bytesIEC,
				queries: []q{
					{`sum by (instance) (millrace_admission_bytes{instance=~"$instance"})`, "{{instance}}"},
					{`sum by (instance) (millrace_admission_outside_bytes{instance=~"$instance"})`, "{{instance}} given up"},
				},
			},
			{
				title:   "Queue",
				about:   "How long requests wait for Kafka and the processor.",
				unit:    seconds,
				queries: quantiles("millrace_admission_queue_seconds", `instance=~"$instance"`),
			},
			{
				title:   "Requests in flight",
				about:   "Requests being served.",
				unit:    count,
				queries: []q{{`millrace_http_requests_in_flight{` + ofEdge + `}`, "{{instance}}"}},
			},
			{
				title:   "Connections",
				about:   "Open connections.",
				unit:    count,
				queries: []q{{`millrace_http_connections{` + ofEdge + `}`, "{{instance}}"}},
			},
			{
				title:   "Turned away",
				about:   "Connections closed or requests refused before anything was done.",
				unit:    perSecond,
				queries: []q{{rate("millrace_http_turned_away_total", ofEdge, "reason"), "{{reason}}"}},
			},
			{
				title:   "Body bytes",
				about:   "Bytes of bodies as they were sent, by route.",
				unit:    bytesPerSec,
				queries: []q{{rate("millrace_http_body_bytes_total", ofEdge, "route"), "{{route}}"}},
			},
		}},
		{"Keys and changes", []panel{
			{
				title: "Cached reads",
				about: "Reads of keys and websites: from the cache, known not to exist, served while the store fails, or read.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_lookup_requests_total", `instance=~"$instance"`, "lookup, outcome"), "{{lookup}} {{outcome}}"},
				},
			},
			{
				title: "Breakers",
				about: "1 while reads of the metadata store or of the billing service are held back because the last ones " +
					"failed.",
				unit:    yesNo,
				page:    1,
				queries: []q{{`millrace_lookup_breaker_open{instance=~"$instance"}`, "{{instance}} {{lookup}}"}},
			},
			{
				title: "Age of quotas", about: "Age of the states that the edge decides by.", unit: seconds, warn: 120,
				queries: []q{{`millrace_control_states_age_seconds{instance=~"$instance"}`, "{{instance}}"}},
			},
			{title: "Geo files", about: "When each was made.", unit: fromNow, kind: bars, queries: []q{
				{`max by (path) (millrace_enrich_geo_built_timestamp_seconds{instance=~"$instance"}) * 1000`, "{{path}}"},
			}},
		}},
	},
}
