package main

var topics = board{
	name: "topics", title: "Millrace / Topics",
	about: "Kafka as the daemons see it: replicas, retention, and records produced and fetched.",
	rows: []row{
		{"Replicas", []panel{
			{
				title: "Brokers", about: "Brokers in the cluster metadata.", unit: count, kind: number,
				queries: []q{{"max(millrace_kafka_brokers)", "brokers"}},
			},
			{
				title: "Under min.insync.replicas", about: "Partitions that cannot be written, by topic.", unit: count, page: 1,
				queries: []q{{"max by (topic) (millrace_kafka_under_min_isr_partitions)", "{{topic}}"}},
			},
			{
				title: "Under-replicated and leaderless", about: "Partitions that lack a replica or a leader.", unit: count,
				warn: 1, queries: []q{
					{"max by (topic) (millrace_kafka_under_replicated_partitions)", "{{topic}} under-replicated"},
					{"max by (topic) (millrace_kafka_leaderless_partitions)", "{{topic}} leaderless"},
				},
			},
			{
				title: "Topic defects",
				about: "Wrong settings of topics. breaks can lose acknowledged records, refuses leads to 503, weakens removes " +
					"reserve. millrace topics check prints the commands.",
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
				title: "Retention used by the lag",
				about: "Share of the retention that the lag has used. At 100 % Kafka deletes records that are not stored. Above " +
					"50 % this pages.",
				unit: share,
				page: 0.5,
				queries: []q{
					{
						"max by (topic) (millrace_sink_lag_seconds) / on (topic) max by (topic) (millrace_kafka_topic_retention_seconds)",
						"{{topic}}",
					},
				},
			},
			{
				title: "Retention", about: "Retention of each topic.", unit: seconds, kind: bars,
				queries: []q{{"max by (topic) (millrace_kafka_topic_retention_seconds)", "{{topic}}"}},
			},
			{
				title:   "Records not stored",
				about:   "Records up to the end of the topic that are not stored yet.",
				unit:    count,
				queries: []q{{"sum by (topic) (millrace_sink_lag_records)", "{{topic}}"}},
			},
		}},
		{"Traffic", []panel{
			{
				title:   "Records produced",
				about:   "Produced records by topic.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_kafka_produce_records_total", "", "topic"), "{{topic}}"}},
			},
			{
				title:   "Bytes produced",
				about:   "Produced bytes by topic, compressed as sent.",
				unit:    bytesPerSec,
				queries: []q{{rate("millrace_kafka_produce_compressed_bytes_total", "", "topic"), "{{topic}}"}},
			},
			{
				title: "Records per batch",
				about: "Records per produced batch. Larger batches cost brokers less.",
				unit:  count, queries: []q{
					{rate("millrace_kafka_produce_records_total", "", "topic") + " / " +
						rate("millrace_kafka_produce_batches_total", "", "topic"), "{{topic}}"},
				},
			},
			{
				title:   "Records fetched",
				about:   "Fetched records by topic.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_kafka_fetch_records_total", "", "topic"), "{{topic}}"}},
			},
			{
				title: "Request time by broker",
				about: "p99 duration of all requests to a broker. Fetches are long because they wait for records.",
				unit:  seconds,
				queries: []q{
					{`histogram_quantile(0.99, sum by (le, client, node_id) (rate(millrace_kafka_request_duration_e2e_seconds_bucket[$__rate_interval])))`, "{{client}} broker {{node_id}}"},
				},
			},
			{title: "Connection errors", about: "Connection errors by client and broker.", unit: perSecond, queries: []q{
				{rate("millrace_kafka_connect_errors_total", "", "client, node_id"), "{{client}} broker {{node_id}} connect"},
				{rate("millrace_kafka_read_errors_total", "", "client, node_id"), "{{client}} broker {{node_id}} read"},
			}},
		}},
		{"Dead letters and change events", []panel{
			{
				title:   "Dead letters",
				about:   "Unstorable records by reason.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_sink_dead_letters_total", "", "reason"), "{{reason}}"}},
			},
			{
				title: "Changes published",
				about: "Change events of keys, websites and quotas published to control.v1, and failures.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_control_published_total", "", ""), "published"},
					{rate("millrace_control_publish_failures_total", "", ""), "failed"},
				},
			},
			{
				title:   "Change events arrive",
				about:   "1 on a process that receives change events through control.v1.",
				unit:    yesNo,
				queries: []q{{"min by (instance) (millrace_control_following)", "{{instance}}"}},
			},
		}},
	},
}
