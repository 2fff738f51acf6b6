package main

const ofSink = `instance=~"$instance"`

var sink = board{
	name: "sink", title: "Millrace / Sink", component: "sink",
	about: "From the topics to the tables: lag, inserts, exactness, and how ClickHouse does.",
	rows: []row{
		{"Lag", []panel{
			{
				title:   "Lag by partition",
				about:   "Age of the oldest record that is not stored and committed.",
				unit:    seconds,
				warn:    60,
				page:    300,
				queries: []q{{"topk(10, millrace_sink_lag_seconds{" + ofSink + "})", "{{topic}}/{{partition}}"}},
			},
			{
				title:   "Records behind",
				about:   "Records up to the end of each partition; none where no broker tells where it ends.",
				unit:    count,
				queries: []q{{"topk(10, millrace_sink_lag_records{" + ofSink + "})", "{{topic}}/{{partition}}"}},
			},
			{
				title: "Oldest plan", about: "How long a range in flight has been planned.", unit: seconds, page: 120,
				queries: []q{{"topk(10, millrace_sink_plan_age_seconds{" + ofSink + "})", "{{topic}}/{{partition}}"}},
			},
			{
				title: "Halted partitions", about: "By reason; each has a heading in the runbook.", unit: count, page: 1,
				queries: []q{{"sum by (topic, reason) (millrace_sink_halted{" + ofSink + "})", "{{topic}} {{reason}}"}},
			},
			{
				title: "Not fetched",
				about: "Partitions that brokers do not send, for ten seconds or longer. Above 0 for two minutes it pages.",
				unit:  count,
				page:  1,
				queries: []q{
					{"sum by (topic, instance) (millrace_kafka_unfetched_partitions{" + ofSink + "})", "{{topic}} {{instance}}"},
				},
			},
			{
				title: "Paused and restoring",
				about: "Partitions whose next range is complete, and those that are being taken over.",
				unit:  count,
				queries: []q{
					{"sum by (instance) (millrace_sink_paused{" + ofSink + "})", "{{instance}} paused"},
					{"sum by (instance) (millrace_sink_restoring{" + ofSink + "})", "{{instance}} restoring"},
				},
			},
			{
				title:   "Partitions owned",
				about:   "By process.",
				unit:    count,
				queries: []q{{"count by (instance, lane) (millrace_sink_lag_seconds{" + ofSink + "})", "{{instance}} {{lane}}"}},
			},
		}},
		{"Storing", []panel{
			{
				title:   "Records",
				about:   "By outcome.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_sink_records_total", ofSink, "outcome"), "{{outcome}}"}},
			},
			{
				title:   "Insert time",
				about:   "From sending a block to its acknowledgement.",
				unit:    seconds,
				queries: quantiles("millrace_sink_insert_duration_seconds", ofSink),
			},
			{
				title:   "Rows an insert",
				about:   "Larger inserts cost ClickHouse less.",
				unit:    count,
				queries: quantiles("millrace_sink_insert_rows", ofSink),
			},
			{
				title:   "Retries",
				about:   "Failed attempts that are made again, by step and class.",
				unit:    perSecond,
				queries: []q{{rate("millrace_sink_retries_total", ofSink, "step, class"), "{{step}} {{class}}"}},
			},
			{
				title:   "Ranges",
				about:   "New ones, and those replayed from a plan that was found.",
				unit:    perSecond,
				queries: []q{{rate("millrace_sink_ranges_total", ofSink, "outcome"), "{{outcome}}"}},
			},
			{
				title: "Memory of records",
				about: "Share of sink.max_memory; at 100 % nothing more is fetched.",
				unit:  share,
				warn:  0.9,
				queries: []q{{
					"millrace_sink_memory_bytes{" + ofSink + "} / millrace_sink_memory_limit_bytes{" + ofSink + "}",
					"{{instance}} {{lane}}",
				}},
			},
		}},
		{"Exactly once", []panel{
			{
				title:   "Offsets without an entry",
				about:   "Committed offsets that are in no entry of the ledger. Anything above 0 pages.",
				unit:    count,
				page:    1,
				queries: []q{{"max(millrace_reconciler_gap_offsets)", "gap"}},
			},
			{
				title: "Found by the reconciler", about: "Gaps, overlaps, miscounts and offsets that were lost, in an hour.",
				unit: count, page: 1, queries: []q{
					{"sum(increase(millrace_reconciler_gaps_total[1h]))", "gaps"},
					{"sum(increase(millrace_reconciler_overlaps_total[1h]))", "overlaps"},
					{"sum(increase(millrace_reconciler_miscounts_total[1h]))", "miscounts"},
					{"sum(increase(millrace_reconciler_lost_offsets_total[1h]))", "lost offsets"},
				},
			},
			{
				title: "Dirty days", about: "Days of owners that are answered from the events, because rollups differ.",
				unit: count, warn: 1, queries: []q{{"max(millrace_reconciler_dirty_days)", "dirty days"}},
			},
			{
				title: "Known inserts",
				about: "Inserts whose token ClickHouse knew, and blocks that the server did not store again.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_sink_known_inserts_total", ofSink, ""), "known inserts"},
					{rate("millrace_sink_lost_inserts_total", ofSink, ""), "known inserts without their rows"},
					{"max(rate(millrace_clickhouse_duplicated_inserted_blocks_total[$__rate_interval]))", "blocks"},
				},
			},
			{
				title:   "Token horizon",
				about:   "How long the tables remember an insert token at this rate. Below an hour it warns.",
				unit:    seconds,
				queries: []q{{"min(millrace_sink_token_horizon_seconds)", "horizon"}},
			},
			{
				title: "Window coverage",
				about: "How far back all event ids are remembered, the least of all partitions, and how far they should be. A " +
					"new topic's grows from 0.",
				unit: seconds,
				queries: []q{
					{"min by (lane) (millrace_sink_window_coverage_seconds{" + ofSink + "})", "{{lane}} covered"},
					{"max by (lane) (millrace_sink_window_horizon_seconds{" + ofSink + "})", "{{lane}} wanted"},
				},
			},
			{
				title: "Forgotten early", about: "Buckets of event ids that had to go for want of memory.", unit: count, warn: 1,
				queries: []q{
					{"sum by (topic) (increase(millrace_sink_window_forgotten_early_total{" + ofSink + "}[1h]))", "{{topic}}"},
				},
			},
			{
				title:   "Window memory",
				about:   "Memory of remembered event ids.",
				unit:    bytesIEC,
				queries: []q{{"sum by (instance) (millrace_sink_window_bytes{" + ofSink + "})", "{{instance}}"}},
			},
			{
				title:   "Rebuilding windows",
				about:   "Time to read the window of a partition that was taken over.",
				unit:    seconds,
				queries: quantiles("millrace_sink_window_rebuild_seconds", ofSink),
			},
			{
				title:   "Clocks ahead",
				about:   "Times that a window did not follow its newest records: an edge's clock is ahead.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_sink_window_clamped_total", ofSink, "topic"), "{{topic}}"}},
			},
		}},
		{"The group", []panel{
			{
				title:   "Changes of the group",
				about:   "Sessions begun; partitions assigned, revoked, lost.",
				unit:    perSecond,
				queries: []q{{rate("millrace_kafka_group_changes_total", ofSink, "change"), "{{change}}"}},
			},
			{
				title: "Waiting for the group", about: "Until a plan, for which an insert waits, or an offset was taken.",
				unit: seconds, warn: 2, queries: quantiles("millrace_sink_commit_duration_seconds", ofSink),
			},
			{
				title:   "Fenced",
				about:   "Partitions dropped because the group did not accept a commit.",
				unit:    perSecond,
				queries: []q{{rate("millrace_sink_fenced_total", ofSink, "instance"), "{{instance}}"}},
			},
			{
				title:   "Fetch errors",
				about:   "Of partitions or of the group.",
				unit:    perSecond,
				queries: []q{{rate("millrace_kafka_fetch_errors_total", ofSink, "client"), "{{client}}"}},
			},
		}},
		{"ClickHouse", []panel{
			{
				title:   "Parts",
				about:   "In the fullest partition of each table: above 1000 inserts are slowed down, above 3000 refused.",
				unit:    count,
				warn:    300,
				page:    1000,
				queries: []q{{"max by (table) (millrace_clickhouse_max_parts)", "{{table}}"}},
			},
			{
				title: "Inserts delayed and rejected",
				about: "For want of merges, by the whole server.",
				unit:  perSecond,
				queries: []q{
					{"max(rate(millrace_clickhouse_inserts_delayed_total[$__rate_interval]))", "delayed"},
					{"max(rate(millrace_clickhouse_inserts_rejected_total[$__rate_interval]))", "rejected"},
				},
			},
			{
				title:   "Merges",
				about:   "Merges and mutations at work.",
				unit:    count,
				queries: []q{{"max(millrace_clickhouse_merges)", "merges"}},
			},
			{title: "Disk in use", about: "Share of each disk. Above 90 % it pages.", unit: share, page: 0.9, queries: []q{
				{"1 - min by (disk) (millrace_clickhouse_disk_free_bytes / millrace_clickhouse_disk_total_bytes)", "{{disk}}"},
			}},
			{
				title: "Replication",
				about: "Longest queue, largest delay, and tables that take no inserts; all 0 without replication.",
				unit:  count,
				queries: []q{
					{"max(millrace_clickhouse_replication_queue)", "queue"},
					{"max(millrace_clickhouse_replication_delay_seconds)", "delay, seconds"},
					{"max(millrace_clickhouse_readonly_replicas)", "read-only"},
				},
			},
			{
				title:   "Answers",
				about:   "1 while the server answers the question how it does.",
				unit:    yesNo,
				queries: []q{{"min by (instance) (millrace_clickhouse_up)", "{{instance}}"}},
			},
		}},
	},
}
