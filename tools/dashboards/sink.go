package main

const ofSink = `instance=~"$instance"`

var sink = board{
	name: "sink", title: "Millrace / Sink", component: "sink",
	about: "From the topics to the tables: lag, inserts, exactness, and the health of ClickHouse.",
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
				about:   "Records up to the end of each partition. Absent while the brokers do not report the end.",
				unit:    count,
				queries: []q{{"topk(10, millrace_sink_lag_records{" + ofSink + "})", "{{topic}}/{{partition}}"}},
			},
			{
				title: "Oldest plan", about: "Time since the range in flight was planned.", unit: seconds, page: 120,
				queries: []q{{"topk(10, millrace_sink_plan_age_seconds{" + ofSink + "})", "{{topic}}/{{partition}}"}},
			},
			{
				title: "Halted partitions",
				about: "Halted partitions by reason. The runbook has a section for each reason.",
				unit:  count, page: 1,
				queries: []q{{"sum by (topic, reason) (millrace_sink_halted{" + ofSink + "})", "{{topic}} {{reason}}"}},
			},
			{
				title: "Partitions not fetched",
				about: "Partitions that could not be fetched for ten seconds or more. Above 0 for two minutes this pages.",
				unit:  count,
				page:  1,
				queries: []q{
					{"sum by (topic, instance) (millrace_kafka_unfetched_partitions{" + ofSink + "})", "{{topic}} {{instance}}"},
				},
			},
			{
				title: "Paused and restoring",
				about: "Partitions with paused fetching, and partitions that the sink is taking over.",
				unit:  count,
				queries: []q{
					{"sum by (instance) (millrace_sink_paused{" + ofSink + "})", "{{instance}} paused"},
					{"sum by (instance) (millrace_sink_restoring{" + ofSink + "})", "{{instance}} restoring"},
				},
			},
			{
				title:   "Partitions owned",
				about:   "Partitions owned by each process.",
				unit:    count,
				queries: []q{{"count by (instance, lane) (millrace_sink_lag_seconds{" + ofSink + "})", "{{instance}} {{lane}}"}},
			},
		}},
		{"Storing", []panel{
			{
				title:   "Records",
				about:   "Records with a committed offset by outcome.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_sink_records_total", ofSink, "outcome"), "{{outcome}}"}},
			},
			{
				title:   "Insert time",
				about:   "Time from sending a block to its acknowledgement.",
				unit:    seconds,
				queries: quantiles("millrace_sink_insert_duration_seconds", ofSink),
			},
			{
				title:   "Rows per insert",
				about:   "Rows per insert. Larger inserts cost ClickHouse less.",
				unit:    count,
				queries: quantiles("millrace_sink_insert_rows", ofSink),
			},
			{
				title:   "Retries",
				about:   "Failed attempts that are retried, by step and error class.",
				unit:    perSecond,
				queries: []q{{rate("millrace_sink_retries_total", ofSink, "step, class"), "{{step}} {{class}}"}},
			},
			{
				title:   "Ranges",
				about:   "Stored ranges by outcome: new or replayed (from an existing plan).",
				unit:    perSecond,
				queries: []q{{rate("millrace_sink_ranges_total", ofSink, "outcome"), "{{outcome}}"}},
			},
			{
				title: "Memory of records",
				about: "Share of sink.max_memory in use. At 100 % the sink stops fetching.",
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
				about:   "Committed offsets without an entry in the ledger. Any such offset pages.",
				unit:    count,
				page:    1,
				queries: []q{{"max(millrace_reconciler_gap_offsets)", "gap"}},
			},
			{
				title: "Reconciler findings", about: "Gaps, overlaps, miscounts and lost offsets found in the last hour.",
				unit: count, page: 1, queries: []q{
					{"sum(increase(millrace_reconciler_gaps_total[1h]))", "gaps"},
					{"sum(increase(millrace_reconciler_overlaps_total[1h]))", "overlaps"},
					{"sum(increase(millrace_reconciler_miscounts_total[1h]))", "miscounts"},
					{"sum(increase(millrace_reconciler_lost_offsets_total[1h]))", "lost offsets"},
				},
			},
			{
				title: "Dirty days", about: "Days of owners that are queried from the events because their rollups differ.",
				unit: count, warn: 1, queries: []q{{"max(millrace_reconciler_dirty_days)", "dirty days"}},
			},
			{
				title: "Known inserts",
				about: "Inserts whose token ClickHouse already knew, and blocks that the server skipped as duplicates.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_sink_known_inserts_total", ofSink, ""), "known inserts"},
					{rate("millrace_sink_lost_inserts_total", ofSink, ""), "known inserts without their rows"},
					{"max(rate(millrace_clickhouse_duplicated_inserted_blocks_total[$__rate_interval]))", "blocks"},
				},
			},
			{
				title:   "Token horizon",
				about:   "Time for which the tables remember an insert token at the current rate. Below one hour this warns.",
				unit:    seconds,
				queries: []q{{"min(millrace_sink_token_horizon_seconds)", "horizon"}},
			},
			{
				title: "Window coverage",
				about: "Time span for which all event ids are remembered, for the partition with the least, and the target. It " +
					"starts at 0 for a new topic.",
				unit: seconds,
				queries: []q{
					{"min by (lane) (millrace_sink_window_coverage_seconds{" + ofSink + "})", "{{lane}} covered"},
					{"max by (lane) (millrace_sink_window_horizon_seconds{" + ofSink + "})", "{{lane}} target"},
				},
			},
			{
				title: "Forgotten early",
				about: "Buckets of event ids forgotten before the horizon for lack of memory.",
				unit:  count, warn: 1,
				queries: []q{
					{"sum by (topic) (increase(millrace_sink_window_forgotten_early_total{" + ofSink + "}[1h]))", "{{topic}}"},
				},
			},
			{
				title:   "Window memory",
				about:   "Memory of the remembered event ids.",
				unit:    bytesIEC,
				queries: []q{{"sum by (instance) (millrace_sink_window_bytes{" + ofSink + "})", "{{instance}}"}},
			},
			{
				title:   "Window rebuild time",
				about:   "Duration of rebuilding the window of a partition that the sink took over.",
				unit:    seconds,
				queries: quantiles("millrace_sink_window_rebuild_seconds", ofSink),
			},
			{
				title:   "Clocks ahead",
				about:   "Times that a window did not advance to its newest records because the clock of an edge is ahead.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_sink_window_clamped_total", ofSink, "topic"), "{{topic}}"}},
			},
		}},
		{"Consumer group", []panel{
			{
				title:   "Group changes",
				about:   "Sessions begun, and partitions assigned, revoked and lost.",
				unit:    perSecond,
				queries: []q{{rate("millrace_kafka_group_changes_total", ofSink, "change"), "{{change}}"}},
			},
			{
				title: "Commit time",
				about: "Duration of plan commits and offset commits. An insert waits for its plan.",
				unit:  seconds, warn: 2, queries: quantiles("millrace_sink_commit_duration_seconds", ofSink),
			},
			{
				title:   "Fenced partitions",
				about:   "Partitions dropped because the group rejected a commit.",
				unit:    perSecond,
				queries: []q{{rate("millrace_sink_fenced_total", ofSink, "instance"), "{{instance}}"}},
			},
			{
				title:   "Fetch errors",
				about:   "Errors of partitions or of the consumer group.",
				unit:    perSecond,
				queries: []q{{rate("millrace_kafka_fetch_errors_total", ofSink, "client"), "{{client}}"}},
			},
		}},
		{"ClickHouse", []panel{
			{
				title: "Parts",
				about: "Parts in the fullest partition of each table. By default ClickHouse delays inserts above 1000 parts " +
					"and rejects them above 3000.",
				unit:    count,
				warn:    300,
				page:    1000,
				queries: []q{{"max by (table) (millrace_clickhouse_max_parts)", "{{table}}"}},
			},
			{
				title: "Inserts delayed and rejected",
				about: "Inserts of the whole server that ClickHouse delayed or rejected because merges fell behind.",
				unit:  perSecond,
				queries: []q{
					{"max(rate(millrace_clickhouse_inserts_delayed_total[$__rate_interval]))", "delayed"},
					{"max(rate(millrace_clickhouse_inserts_rejected_total[$__rate_interval]))", "rejected"},
				},
			},
			{
				title:   "Merges",
				about:   "Running merges and mutations.",
				unit:    count,
				queries: []q{{"max(millrace_clickhouse_merges)", "merges"}},
			},
			{
				title: "Disk in use",
				about: "Used share of each disk. Above 90 % this pages.",
				unit:  share, page: 0.9, queries: []q{
					{"1 - min by (disk) (millrace_clickhouse_disk_free_bytes / millrace_clickhouse_disk_total_bytes)", "{{disk}}"},
				},
			},
			{
				title: "Replication",
				about: "Longest queue, largest delay, and read-only tables; all 0 without replication.",
				unit:  count,
				queries: []q{
					{"max(millrace_clickhouse_replication_queue)", "queue"},
					{"max(millrace_clickhouse_replication_delay_seconds)", "delay, seconds"},
					{"max(millrace_clickhouse_readonly_replicas)", "read-only"},
				},
			},
			{
				title:   "ClickHouse up",
				about:   "1 while the server answers the health query.",
				unit:    yesNo,
				queries: []q{{"min by (instance) (millrace_clickhouse_up)", "{{instance}}"}},
			},
		}},
	},
}
