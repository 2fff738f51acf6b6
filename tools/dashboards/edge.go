package main

const ofEdge = `host="ingestion",instance=~"$instance"`

var edge = board{
	name: "edge", title: "Millrace / Edge", component: "ingest-edge",
	about: "The ingestion host: requests, their outcomes, and the waits for Kafka, memory and keys.",
	rows: []row{
		{"Requests and events", []panel{
			{
				title:   "Requests by route",
				about:   "Completed requests by route.",
				unit:    perSecond,
				queries: []q{{rate("millrace_http_requests_total", ofEdge, "route"), "{{route}}"}},
			},
			{
				title:   "Responses by status",
				about:   "Completed requests by status.",
				unit:    perSecond,
				queries: []q{{rate("millrace_http_requests_total", ofEdge, "status"), "{{status}}"}},
			},
			{
				title: "Share of 5xx",
				about: "Share of requests answered 5xx. Above 1 % for five minutes this pages.",
				unit:  share, page: 0.01, queries: []q{{
					"(" + rate("millrace_http_requests_total", ofEdge+`,status=~"5.."`, "") + " or vector(0)) / " +
						rate("millrace_http_requests_total", ofEdge, ""),
					"5xx",
				}},
			},
			{
				title: "Events by outcome",
				about: "Outcomes of received events. Their sum is the number of received events.",
				unit:  eventsPerSec,
				queries: []q{
					{rate("millrace_ingest_events_total", `instance=~"$instance"`, "outcome"), "{{outcome}}"},
				},
			},
			{
				title: "Rejections by step",
				about: "Rejected requests by the step that rejected them and by error code.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_ingest_requests_refused_total", `instance=~"$instance"`, "step, code"), "{{step}} {{code}}"},
				},
			},
			{
				title:   "Request time",
				about:   "Time from the header of a request until its response is ready.",
				unit:    seconds,
				queries: quantiles("millrace_http_request_duration_seconds", ofEdge),
			},
		}},
		{"Kafka", []panel{
			{
				title:   "Acknowledgement time",
				about:   "Time from publishing the records of a request to the last acknowledgement.",
				unit:    seconds,
				warn:    0.1,
				page:    0.5,
				queries: quantiles("millrace_kafka_ack_duration_seconds", `client="ingest-edge",instance=~"$instance"`),
			},
			{
				title: "Produce buffer",
				about: "Share of kafka.max_buffered_bytes in use. At 100 % requests are answered 503.",
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
				about:   "Records that the producer failed to send, by the broker's error code.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_kafka_produce_errors_total", `instance=~"$instance"`, "code"), "{{code}}"}},
			},
			{
				title: "Unconfirmed publications",
				about: "Unconfirmed publications by reason. Each one was answered 503.",
				unit:  perSecond, queries: []q{
					{rate("millrace_kafka_publish_failures_total",
						`client="ingest-edge",instance=~"$instance"`, "reason"), "{{reason}}"},
				},
			},
			{
				title: "Late and unconfirmed",
				about: "Records acknowledged after their request was answered 503, and events of rejected requests that may be " +
					"stored anyway. A retry does not count them twice.",
				unit: eventsPerSec,
				queries: []q{
					{rate("millrace_kafka_late_acks_total", `instance=~"$instance"`, ""), "late acknowledgements"},
					{rate("millrace_ingest_events_unconfirmed_total", `instance=~"$instance"`, ""), "unconfirmed events"},
				},
			},
		}},
		{"Capacity", []panel{
			{
				title:   "Admission rejections",
				about:   "Requests rejected for lack of room, by reason: memory, the caller's share, or the queue.",
				unit:    perSecond,
				queries: []q{{rate("millrace_admission_refused_total", `instance=~"$instance"`, "reason"), "{{reason}}"}},
			},
			{
				title: "Memory of requests",
				about: "Memory claimed by requests in flight, and memory of records that outlive their requests.",
				unit:  bytesIEC,
				queries: []q{
					{`sum by (instance) (millrace_admission_bytes{instance=~"$instance"})`, "{{instance}}"},
					{`sum by (instance) (millrace_admission_outside_bytes{instance=~"$instance"})`, "{{instance}} outside"},
				},
			},
			{
				title:   "Queue time",
				about:   "Time that requests wait for Kafka and the processor.",
				unit:    seconds,
				queries: quantiles("millrace_admission_queue_seconds", `instance=~"$instance"`),
			},
			{
				title:   "Requests in flight",
				about:   "Requests in flight.",
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
				title:   "Connections and requests turned away",
				about:   "Connections closed and requests rejected before any work, by reason.",
				unit:    perSecond,
				queries: []q{{rate("millrace_http_turned_away_total", ofEdge, "reason"), "{{reason}}"}},
			},
			{
				title:   "Body bytes",
				about:   "Bytes of request bodies as sent, by route.",
				unit:    bytesPerSec,
				queries: []q{{rate("millrace_http_body_bytes_total", ofEdge, "route"), "{{route}}"}},
			},
		}},
		{"Keys and change events", []panel{
			{
				title: "Cached reads",
				about: "Reads of keys and websites: hit, negative (known not to exist), stale (served while the store fails) or " +
					"miss.",
				unit: perSecond,
				queries: []q{
					{rate("millrace_lookup_requests_total", `instance=~"$instance"`, "lookup, outcome"), "{{lookup}} {{outcome}}"},
				},
			},
			{
				title:   "Breakers",
				about:   "1 while reads of the metadata store or of the billing service are suspended after failures.",
				unit:    yesNo,
				page:    1,
				queries: []q{{`millrace_lookup_breaker_open{instance=~"$instance"}`, "{{instance}} {{lookup}}"}},
			},
			{
				title: "Age of quotas",
				about: "Age of the cached states, such as quotas, that the edge decides by.",
				unit:  seconds, warn: 120,
				queries: []q{{`millrace_control_states_age_seconds{instance=~"$instance"}`, "{{instance}}"}},
			},
			{title: "Geo files", about: "Build time of each geo file in use.", unit: fromNow, kind: bars, queries: []q{
				{`max by (path) (millrace_enrich_geo_built_timestamp_seconds{instance=~"$instance"}) * 1000`, "{{path}}"},
			}},
		}},
	},
}
