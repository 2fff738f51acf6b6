package main

var tenants = board{
	name: "tenants", title: "Millrace / Tenants",
	about: "Load and rejections by cause. Metrics name no website; the queries ingestion_health and usage do.",
	rows: []row{
		{"Load", []panel{
			{
				title: "Largest websites",
				about: "Share of the records stored in the last minute for each of the ten largest websites of a sink, by rank. " +
					"The sink logs the name of a website with more than half.",
				unit:    share,
				queries: []q{{"max by (rank) (millrace_sink_owner_share)", "number {{rank}}"}},
			},
			{
				title: "Largest websites now",
				about: "Share of the records stored in the last minute for each of the ten largest websites, at present.",
				unit:  share, kind: bars, warn: 0.5,
				queries: []q{{"max by (rank) (millrace_sink_owner_share)", "number {{rank}}"}},
			},
			{
				title:   "Events excluded on purpose",
				about:   "Events of bots, of excluded visitors and paths, and of browsers that ask not to be tracked.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_ingest_events_total", `outcome=~"bot|excluded|declined"`, "outcome"), "{{outcome}}"}},
			},
			{
				title: "Events rejected because of the caller",
				about: "Events rejected because of limits, quotas, keys or invalid input, by error code.",
				unit:  eventsPerSec,
				queries: []q{
					{rate("millrace_ingest_events_total", `outcome!~"accepted|bot|excluded|declined|SERVICE_UNAVAILABLE|DELIVERY_UNAVAILABLE|DEADLINE_EXCEEDED|BILLING_UNAVAILABLE|INTERNAL_SERVER_ERROR"`, "outcome"), "{{outcome}}"},
				},
			},
			{
				title:   "Bots",
				about:   "Events of declared bots by kind.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_ingest_events_bots_total", "", "kind"), "{{kind}}"}},
			},
			{
				title: "Share of duplicates",
				about: "Share of committed records that are duplicates, sent by clients that retry.",
				unit:  share,
				queries: []q{
					{rate("millrace_sink_records_total", `outcome="duplicate"`, "") + " / " +
						rate("millrace_sink_records_total", "", ""), "duplicates"},
				},
			},
		}},
		{"Limits and quotas", []panel{
			{
				title:   "Rate-limited requests",
				about:   "Requests answered 429 by family of routes and reason.",
				unit:    perSecond,
				queries: []q{{rate("millrace_limits_refused_total", "", "family, reason"), "{{family}} {{reason}}"}},
			},
			{
				title:   "Callers",
				about:   "Callers with a request count in memory.",
				unit:    count,
				queries: []q{{"millrace_limits_callers", "{{instance}}"}},
			},
			{
				title:   "Shared through Redis",
				about:   "1 while processes count requests together in Redis.",
				unit:    yesNo,
				queries: []q{{"min by (instance) (millrace_limits_shared)", "{{instance}}"}},
			},
			{
				title: "Admitted without Redis",
				about: "Requests admitted by one process alone because Redis did not answer. This bounds the requests beyond " +
					"the limits.",
				unit:    perSecond,
				queries: []q{{rate("millrace_limits_local_total", "", "instance"), "{{instance}}"}},
			},
			{
				title:   "Redis time",
				about:   "Duration of one Redis call about a request, including failures.",
				unit:    seconds,
				queries: quantiles("millrace_limits_settle_duration_seconds", ""),
			},
			{
				title:   "Quotas exceeded",
				about:   "Organizations over their quota this month.",
				unit:    count,
				queries: []q{{"max(millrace_quota_organizations_exceeded)", "organizations"}},
			},
		}},
		{"Fairness", []panel{
			{
				title: "Rejected because of one owner's load",
				about: "Edge: the owner's share of memory. Query: the owner's queue. Exports: too many at the same time.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_admission_refused_total", `reason="share"`, ""), "edge"},
					{rate("millrace_query_slots_refused_total", "", "queue"), "queries, {{queue}}"},
					{rate("millrace_exports_refused_total", "", "reason"), "exports, {{reason}}"},
				},
			},
			{
				title: "Uncounted events",
				about: "Events missing from ingestion_health because too many owners were counted at once. The events " +
					"themselves are unaffected.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_tally_uncounted_events_total", "", ""), "uncounted"}},
			},
			{
				title: "Sign-ins",
				about: "Attempts to sign in by result. refused means that the attempt came too soon after others.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_session_sign_ins_total", "", "result"), "{{result}}"},
					{rate("millrace_session_refused_attempts_total", "", ""), "refused"},
				},
			},
		}},
	},
}
