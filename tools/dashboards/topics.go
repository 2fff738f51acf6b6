package main

var topics = board{
	name: "topics", title: "Millrace / Topics",
	about: "Kafka as the daemons see it: replicas, retention, and what goes in and out.",
	rows: []row{
		{"Replicas", []panel{
			{
				title: "Brokers", about: "Brokers that the cluster names.", unit: count, kind: number,
				queries: []q{{"max(millrace_kafka_brokers)", "brokers"}},
			},
			{
				title: "Under min.insync.replicas", about: "Partitions that cannot be written, by topic.", unit: count, page: 1,
				queries: []q{{"max by (topic) (millrace_kafka_under_min_isr_partitions)", "{{topic}}"}},
			},
			{
				title: "Under-replicated and leaderless", about: "Partitions that lack a replica, or have no leader.", unit: count,
				warn: 1, queries: []q{
					{"max by (topic) (millrace_kafka_under_replicated_partitions)", "{{topic}} lack a replica"},
					{"max by (topic) (millrace_kafka_leaderless_partitions)", "{{topic}} no leader"},
				},
			},
			{
				title: "Settings that are not as they should be",
				about: "Found in the settings of topics: breaks may lose what was acknowledged, refuses answers 503, weakens " +
					"takes reserve away. millrace topics check names the command.",
				unit: count,
				warn: 1,
				queries: []q{
					{"max by (topic, setting, severity) (millrace_kafka_topic_defects)", "{{topic}} {{setting}} {{severity}}"},
					{"max by (client) (millrace_kafka_topics_unchecked)", "not checked by {{client}}"},
				},
			},
		}},
		{"Retention", []panel{
			{
				title: "Share of the retention that the lag has used",
				about: "At 100 % records are removed that nobody has stored. Above 50 % it pages.",
				unit:  share,
				page:  0.5,
				queries: []q{
					{
						"max by (topic) (millrace_sink_lag_seconds) / on (topic) max by (topic) (millrace_kafka_topic_retention_seconds)",
						"{{topic}}",
					},
				},
			},
			{
				title: "Retention", about: "How long each topic keeps its records.", unit: seconds, kind: bars,
				queries: []q{{"max by (topic) (millrace_kafka_topic_retention_seconds)", "{{topic}}"}},
			},
			{
				title:   "Records not stored",
				about:   "Up to the end of the topic, in hand or not.",
				unit:    count,
				queries: []q{{"sum by (topic) (millrace_sink_lag_records)", "{{topic}}"}},
			},
		}},
		{"Traffic", []panel{
			{
				title:   "Records produced",
				about:   "By topic.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_kafka_produce_records_total", "", "topic"), "{{topic}}"}},
			},
			{
				title:   "Bytes produced",
				about:   "Compressed, as they go over the wire.",
				unit:    bytesPerSec,
				queries: []q{{rate("millrace_kafka_produce_compressed_bytes_total", "", "topic"), "{{topic}}"}},
			},
			{title: "Records a batch", about: "Larger batches cost brokers less.", unit: count, queries: []q{
				{rate("millrace_kafka_produce_records_total", "", "topic") + " / " +
					rate("millrace_kafka_produce_batches_total", "", "topic"), "{{topic}}"},
			}},
			{
				title:   "Records fetched",
				about:   "By topic.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_kafka_fetch_records_total", "", "topic"), "{{topic}}"}},
			},
			{
				title: "Request time by broker",
				about: "p99 of all requests to a broker; fetches wait for records, so theirs are long.",
				unit:  seconds,
				queries: []q{
					{`histogram_quantile(0.99, sum by (le, client, node_id) (rate(millrace_kafka_request_duration_e2e_seconds_bucket[$__rate_interval])))`, "{{client}} broker {{node_id}}"},
				},
			},
			{title: "Connection errors", about: "By client and broker.", unit: perSecond, queries: []q{
				{rate("millrace_kafka_connect_errors_total", "", "client, node_id"), "{{client}} broker {{node_id}} connect"},
				{rate("millrace_kafka_read_errors_total", "", "client, node_id"), "{{client}} broker {{node_id}} read"},
			}},
		}},
		{"Dead letters and changes", []panel{
			{
				title:   "Dead letters",
				about:   "Records that cannot be stored, by reason.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_sink_dead_letters_total", "", "reason"), "{{reason}}"}},
			},
			{
				title: "Changes published",
				about: "Changes of keys, websites and quotas, through control.v1.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_control_published_total", "", ""), "published"},
					{rate("millrace_control_publish_failures_total", "", ""), "failed"},
				},
			},
			{
				title:   "Changes arrive",
				about:   "1 on a process that follows control.v1.",
				unit:    yesNo,
				queries: []q{{"min by (instance) (millrace_control_following)", "{{instance}}"}},
			},
		}},
	},
}
