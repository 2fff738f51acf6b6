package main

const ofQuery = `instance=~"$instance"`

var query = board{
	name: "query", title: "Millrace / Query", component: "query",
	about: "The query and management host: requests, statements, slots, the cache, flags, and background work.",
	rows: []row{
		{"Requests", []panel{
			{
				title:   "Requests by route",
				about:   "Completed requests by route.",
				unit:    perSecond,
				queries: []q{{rate("millrace_http_requests_total", `host="query",`+ofQuery, "route"), "{{route}}"}},
			},
			{
				title:   "Responses by status",
				about:   "Completed requests by status.",
				unit:    perSecond,
				queries: []q{{rate("millrace_http_requests_total", `host="query",`+ofQuery, "status"), "{{status}}"}},
			},
			{
				title: "Query time", about: "Duration of requests to /v1/query.", unit: seconds, warn: 4,
				queries: quantiles("millrace_http_request_duration_seconds", `host="query",route="/v1/query",`+ofQuery),
			},
		}},
		{"Statements", []panel{
			{
				title: "Statement time by type",
				about: "p95 duration of one statement by query type, including failures.",
				unit:  seconds, queries: []q{
					{"histogram_quantile(0.95, sum by (le, type) (rate(millrace_analytics_query_duration_seconds_bucket{" + ofQuery +
						"}[$__rate_interval])))", "{{type}}"},
				},
			},
			{
				title:   "Statements by type",
				about:   "Statements run, by query type.",
				unit:    perSecond,
				queries: []q{{rate("millrace_analytics_query_duration_seconds_count", ofQuery, "type"), "{{type}}"}},
			},
			{
				title:   "Failed statements",
				about:   "Failed statements by query type and error code.",
				unit:    perSecond,
				queries: []q{{rate("millrace_analytics_query_failures_total", ofQuery, "type, code"), "{{type}} {{code}}"}},
			},
			{
				title: "Slots",
				about: "Running statements, and admitted statements that wait for a slot.",
				unit:  count, queries: []q{
					{"sum by (instance) (millrace_query_slots_held{" + ofQuery + "})", "{{instance}} running"},
					{"sum by (instance) (millrace_query_slots_waiting{" + ofQuery + "})", "{{instance}} waiting"},
				},
			},
			{
				title:   "Slot wait",
				about:   "Time that statements waited for a slot. Statements that never got one are not counted.",
				unit:    seconds,
				queries: quantiles("millrace_query_slot_wait_seconds", ofQuery),
			},
			{
				title:   "Rejected requests",
				about:   "Requests rejected because too many statements waited, by queue.",
				unit:    perSecond,
				queries: []q{{rate("millrace_query_slots_refused_total", ofQuery, "queue"), "{{queue}}"}},
			},
			{
				title: "Cache results",
				about: "Statements by result: hit (from the cache), miss (run), shared (joined a running statement) or bypass " +
					"(run without the cache).",
				unit:    perSecond,
				queries: []q{{rate("millrace_query_cache_statements_total", ofQuery, "result"), "{{result}}"}},
			},
			{title: "Cache memory", about: "Share of query.cache_memory in use.", unit: share, queries: []q{
				{"millrace_query_cache_bytes{" + ofQuery + "} / millrace_query_cache_max_bytes{" + ofQuery + "}", "{{instance}}"},
			}},
			{
				title:   "Result rows",
				about:   "Rows in query results by type, without results from the cache.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_analytics_result_rows_total", ofQuery, "type"), "{{type}}"}},
			},
		}},
		{"Exports and streams", []panel{
			{
				title:   "Exports",
				about:   "Running exports of raw events.",
				unit:    count,
				queries: []q{{"millrace_exports_running{" + ofQuery + "}", "{{instance}}"}},
			},
			{
				title:   "Rows exported",
				about:   "Rows written by exports, by kind and format.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_export_rows_total", ofQuery, "kind, format"), "{{kind}} {{format}}"}},
			},
			{
				title:   "Streams cut",
				about:   "Streamed responses that ended early, by reason.",
				unit:    perSecond,
				queries: []q{{rate("millrace_http_streams_cut_total", `host="query",`+ofQuery, "reason"), "{{reason}}"}},
			},
		}},
		{"Feature flags", []panel{
			{
				title: "Age of flags",
				about: "Time since all cached flags were known to be current. Above one minute this pages. At flags.stale the " +
					"host stops serving them.",
				unit: seconds,
				page: 60,
				queries: []q{
					{"millrace_flag_sets_age_seconds{" + ofQuery + "}", "{{instance}}"},
				},
			},
			{
				title: "Organizations with cached flags",
				about: "Organizations whose flags are cached, and those whose changed flags wait to be read again.",
				unit:  count,
				queries: []q{
					{"millrace_flag_sets_held{" + ofQuery + "}", "{{instance}} cached"},
					{"millrace_flag_sets_waiting{" + ofQuery + "}", "{{instance}} waiting"},
				},
			},
			{
				title:   "Memory of flags",
				about:   "Estimated memory of the cached flags, up to flags.memory.",
				unit:    bytesIEC,
				queries: []q{{"millrace_flag_sets_bytes{" + ofQuery + "}", "{{instance}}"}},
			},
			{
				title: "Requests for flag sets",
				about: "Requests for flags: hit (cached), miss (read from the metadata store) or stale (cached, but " +
					"unconfirmed for more than 6 s).",
				unit:    perSecond,
				queries: []q{{rate("millrace_flag_sets_requests_total", ofQuery, "outcome"), "{{outcome}}"}},
			},
			{
				title:   "Flag sets read",
				about:   "Reads of flag sets from the metadata store, one per organization, by outcome.",
				unit:    perSecond,
				queries: []q{{rate("millrace_flag_sets_loads_total", ofQuery, "outcome"), "{{outcome}}"}},
			},
			{
				title: "Changes and evictions",
				about: "Change events of flags, failed comparisons with the metadata store, and evicted flag sets.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_flag_sets_changes_total", ofQuery, ""), "changes"},
					{rate("millrace_flag_sets_compare_failures_total", ofQuery, ""), "failed comparisons"},
					{rate("millrace_flag_sets_evicted_total", ofQuery, ""), "evicted"},
				},
			},
			{
				title:   "Exposures",
				about:   "Exposures to feature flags by fate. no_salt, buffer_full, refused and stopped are losses.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_exposures_total", ofQuery, "fate"), "{{fate}}"}},
			},
			{
				title: "Exposure buffer",
				about: "Share of the 32 MiB buffer used by unacknowledged exposures. At 100 % new exposures are dropped.",
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
				title: "Lag of exposures",
				about: "Age of the oldest exposure that is not stored.",
				unit:  seconds, warn: 60, page: 300,
				queries: []q{{`max(millrace_sink_lag_seconds{lane="exposures"})`, "exposures"}},
			},
		}},
		{"Served flags", []panel{
			{
				title:   "Evaluations",
				about:   "Flags evaluated for the public routes, by outcome.",
				unit:    perSecond,
				queries: []q{{rate("millrace_flag_evaluations_total", ofQuery, "outcome"), "{{outcome}}"}},
			},
			{
				title:   "Failed evaluations",
				about:   "Flag requests answered 500. Each one is a bug.",
				unit:    perSecond,
				queries: []q{{rate("millrace_flag_evaluation_errors_total", ofQuery, "instance"), "{{instance}}"}},
			},
			{
				title: "Flag streams",
				about: "Share of flags.max_streams in use. At 100 % further streams are rejected.",
				unit:  share,
				warn:  0.9, queries: []q{
					{"millrace_flag_streams{" + ofQuery + "} / millrace_flag_streams_limit{" + ofQuery + "}", "{{instance}}"},
				},
			},
			{
				title: "Rejected flag streams",
				about: "Rejected streams by reason: process (too many in the process) or address (too many of one website and " +
					"address).",
				unit:    perSecond,
				queries: []q{{rate("millrace_flag_streams_refused_total", ofQuery, "reason"), "{{reason}}"}},
			},
			{
				title:   "Stream events",
				about:   "Events that make clients reload their flags, by reason: change (an edit) or time (a schedule or a ramp).",
				unit:    perSecond,
				queries: []q{{rate("millrace_flag_stream_events_total", ofQuery, "reason"), "{{reason}}"}},
			},
		}},
		{"Background work", []panel{
			{
				title: "Active process",
				about: "1 on the one process that publishes change events, counts usage, or runs the probe.",
				unit:  yesNo,
				queries: []q{
					{"millrace_control_relay_active{" + ofQuery + "}", "{{instance}} publishes"},
					{"millrace_quota_active{" + ofQuery + "}", "{{instance}} counts"},
					{"millrace_probe_active{" + ofQuery + "}", "{{instance}} probes"},
				},
			},
			{
				title: "Outbox", about: "Change events that wait to be published; at most 500 are counted.",
				unit: count, warn: 100, queries: []q{{"max(millrace_control_outbox_pending)", "outbox"}},
			},
			{
				title:   "Erasures",
				about:   "Unfinished erasures by state.",
				unit:    count,
				queries: []q{{"sum by (state) (millrace_erasure_open{" + ofQuery + "})", "{{state}}"}},
			},
			{
				title: "Age of the oldest erasure",
				about: "Age of the oldest unfinished erasure; 0 without one.",
				unit:  seconds, warn: 3600,
				queries: []q{{"max(millrace_erasure_oldest_seconds{" + ofQuery + "})", "oldest"}},
			},
			{
				title: "Usage counted", about: "Time of the last count of usage.", unit: fromNow, kind: number,
				queries: []q{{"max(millrace_quota_counted_timestamp_seconds) * 1000", "counted"}},
			},
			{
				title:   "Mails",
				about:   "Mails by result.",
				unit:    perSecond,
				queries: []q{{rate("millrace_mail_mails_total", ofQuery, "result"), "{{result}}"}},
			},
		}},
	},
}
