package main

const ofQuery = `instance=~"$instance"`

var query = board{
	name: "query", title: "Millrace / Query", component: "query",
	about: "The query and management host: answers, statements, turns, the cache, and the work it does beside.",
	rows: []row{
		{"Requests", []panel{
			{
				title:   "Requests by route",
				about:   "Answered requests.",
				unit:    perSecond,
				queries: []q{{rate("millrace_http_requests_total", `host="query",`+ofQuery, "route"), "{{route}}"}},
			},
			{
				title:   "Answers by status",
				about:   "Answered requests by status.",
				unit:    perSecond,
				queries: []q{{rate("millrace_http_requests_total", `host="query",`+ofQuery, "status"), "{{status}}"}},
			},
			{
				title: "Request time", about: "Of /v1/query.", unit: seconds, warn: 4,
				queries: quantiles("millrace_http_request_duration_seconds", `host="query",route="/v1/query",`+ofQuery),
			},
		}},
		{"Statements", []panel{
			{title: "Statement time by type", about: "p95 of one statement, failures included.", unit: seconds, queries: []q{
				{"histogram_quantile(0.95, sum by (le, type) (rate(millrace_analytics_query_duration_seconds_bucket{" + ofQuery +
					"}[$__rate_interval])))", "{{type}}"},
			}},
			{
				title:   "Statements by type",
				about:   "Statements that were run.",
				unit:    perSecond,
				queries: []q{{rate("millrace_analytics_query_duration_seconds_count", ofQuery, "type"), "{{type}}"}},
			},
			{
				title:   "Failures",
				about:   "By type and by the code that callers see.",
				unit:    perSecond,
				queries: []q{{rate("millrace_analytics_query_failures_total", ofQuery, "type, code"), "{{type}} {{code}}"}},
			},
			{title: "Turns", about: "Statements that run, and those that wait for their turn.", unit: count, queries: []q{
				{"sum by (instance) (millrace_query_slots_held{" + ofQuery + "})", "{{instance}} run"},
				{"sum by (instance) (millrace_query_slots_waiting{" + ofQuery + "})", "{{instance}} wait"},
			}},
			{
				title:   "Waiting for a turn",
				about:   "Those that never got one are left out.",
				unit:    seconds,
				queries: quantiles("millrace_query_slot_wait_seconds", ofQuery),
			},
			{
				title:   "Refused",
				about:   "Requests refused because too many statements were waiting.",
				unit:    perSecond,
				queries: []q{{rate("millrace_query_slots_refused_total", ofQuery, "queue"), "{{queue}}"}},
			},
			{
				title:   "How statements were answered",
				about:   "From the cache, by a run, by a run that somebody else had begun, or without the cache.",
				unit:    perSecond,
				queries: []q{{rate("millrace_query_cache_statements_total", ofQuery, "result"), "{{result}}"}},
			},
			{title: "Cache", about: "Share of query.cache_memory in use.", unit: share, queries: []q{
				{"millrace_query_cache_bytes{" + ofQuery + "} / millrace_query_cache_max_bytes{" + ofQuery + "}", "{{instance}}"},
			}},
			{
				title:   "Rows of answers",
				about:   "By type; those from the cache are left out.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_analytics_result_rows_total", ofQuery, "type"), "{{type}}"}},
			},
		}},
		{"Exports and streams", []panel{
			{
				title:   "Exports",
				about:   "Exports of raw events that are being written.",
				unit:    count,
				queries: []q{{"millrace_exports_running{" + ofQuery + "}", "{{instance}}"}},
			},
			{
				title:   "Rows exported",
				about:   "By kind and format.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_export_rows_total", ofQuery, "kind, format"), "{{kind}} {{format}}"}},
			},
			{
				title:   "Streams cut",
				about:   "Streamed answers that ended in the middle.",
				unit:    perSecond,
				queries: []q{{rate("millrace_http_streams_cut_total", `host="query",`+ofQuery, "reason"), "{{reason}}"}},
			},
		}},
		{"Feature flags", []panel{
			{
				title: "Age of flags",
				about: "How long ago all flags that are held were known to be right. Above a minute it pages; at flags.stale " +
					"none is answered.",
				unit: seconds,
				page: 60,
				queries: []q{
					{"millrace_flag_sets_age_seconds{" + ofQuery + "}", "{{instance}}"},
				},
			},
			{
				title: "Organizations held",
				about: "Whose flags are held, and those of them that have changed and wait to be read again.",
				unit:  count,
				queries: []q{
					{"millrace_flag_sets_held{" + ofQuery + "}", "{{instance}} held"},
					{"millrace_flag_sets_waiting{" + ofQuery + "}", "{{instance}} wait"},
				},
			},
			{
				title:   "Memory of flags",
				about:   "About what they take, up to flags.memory.",
				unit:    bytesIEC,
				queries: []q{{"millrace_flag_sets_bytes{" + ofQuery + "}", "{{instance}}"}},
			},
			{
				title:   "Flags asked for",
				about:   "Held, read from the metadata store, or held and not known to be right for more than 6 s.",
				unit:    perSecond,
				queries: []q{{rate("millrace_flag_sets_requests_total", ofQuery, "outcome"), "{{outcome}}"}},
			},
			{
				title:   "Flags read",
				about:   "From the metadata store, an organization's all together, by outcome.",
				unit:    perSecond,
				queries: []q{{rate("millrace_flag_sets_loads_total", ofQuery, "outcome"), "{{outcome}}"}},
			},
			{
				title: "Changes and evictions",
				about: "Changes that control.v1 told of, comparisons that failed, and organizations whose flags gave way.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_flag_sets_changes_total", ofQuery, ""), "changes"},
					{rate("millrace_flag_sets_compare_failures_total", ofQuery, ""), "failed comparisons"},
					{rate("millrace_flag_sets_evicted_total", ofQuery, ""), "gave way"},
				},
			},
			{
				title:   "Exposures",
				about:   "Who was given what, by what became of it. Those of no_salt, buffer_full, refused and stopped are lost.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_exposures_total", ofQuery, "fate"), "{{fate}}"}},
			},
			{
				title: "Buffer of exposures",
				about: "Share of 32 MiB that exposures take which are not acknowledged yet; at 100 % new ones are dropped.",
				unit:  share,
				warn:  0.5,
				queries: []q{
					{
						"millrace_exposures_buffered_bytes{" + ofQuery + "} / millrace_exposures_buffer_limit_bytes{" + ofQuery + "}",
						"{{instance}}",
					},
				},
			},
			{
				title: "Lag of exposures", about: "Age of the oldest one that is not stored.", unit: seconds, warn: 60, page: 300,
				queries: []q{{`max(millrace_sink_lag_seconds{lane="exposures"})`, "exposures"}},
			},
		}},
		{"Flags that are served", []panel{
			{
				title:   "Evaluations",
				about:   "Of flags for callers of the public routes, by outcome.",
				unit:    perSecond,
				queries: []q{{rate("millrace_flag_evaluations_total", ofQuery, "outcome"), "{{outcome}}"}},
			},
			{
				title:   "Evaluations that failed",
				about:   "Requests that were answered 500. Any is a fault of the program.",
				unit:    perSecond,
				queries: []q{{rate("millrace_flag_evaluation_errors_total", ofQuery, "instance"), "{{instance}}"}},
			},
			{
				title: "Streams", about: "Share of flags.max_streams that are open; at 100 % one more is refused.", unit: share,
				warn: 0.9, queries: []q{
					{"millrace_flag_streams{" + ofQuery + "} / millrace_flag_streams_limit{" + ofQuery + "}", "{{instance}}"},
				},
			},
			{
				title:   "Streams refused",
				about:   "Because the host has as many as it may (process), or a website's from one address has (address).",
				unit:    perSecond,
				queries: []q{{rate("millrace_flag_streams_refused_total", ofQuery, "reason"), "{{reason}}"}},
			},
			{
				title:   "Events of streams",
				about:   "That have clients ask again: somebody changed what they see (change), or a schedule or ramp did (time).",
				unit:    perSecond,
				queries: []q{{rate("millrace_flag_stream_events_total", ofQuery, "reason"), "{{reason}}"}},
			},
		}},
		{"Work under leases", []panel{
			{
				title: "Who does it",
				about: "1 on the process that publishes changes, counts usage, or probes; one of all does.",
				unit:  yesNo,
				queries: []q{
					{"millrace_control_relay_active{" + ofQuery + "}", "{{instance}} publishes"},
					{"millrace_quota_active{" + ofQuery + "}", "{{instance}} counts"},
					{"millrace_probe_active{" + ofQuery + "}", "{{instance}} probes"},
				},
			},
			{
				title: "Changes that wait", about: "Announced changes that wait to be published; at most 500 are counted.",
				unit: count, warn: 100, queries: []q{{"max(millrace_control_outbox_pending)", "outbox"}},
			},
			{
				title:   "Erasures",
				about:   "That are not done, by state.",
				unit:    count,
				queries: []q{{"sum by (state) (millrace_erasure_open{" + ofQuery + "})", "{{state}}"}},
			},
			{
				title: "Age of the oldest erasure", about: "0 when there is none.", unit: seconds, warn: 3600,
				queries: []q{{"max(millrace_erasure_oldest_seconds{" + ofQuery + "})", "oldest"}},
			},
			{
				title: "Usage counted", about: "When usage was counted last.", unit: fromNow, kind: number,
				queries: []q{{"max(millrace_quota_counted_timestamp_seconds) * 1000", "counted"}},
			},
			{
				title:   "Mails",
				about:   "By what became of them.",
				unit:    perSecond,
				queries: []q{{rate("millrace_mail_mails_total", ofQuery, "result"), "{{result}}"}},
			},
		}},
	},
}
