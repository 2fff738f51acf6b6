package main

var tenants = board{
	name: "tenants", title: "Millrace / Tenants",
	about: "Who brings the load, and who is refused. Metrics name no website; whose records they are is asked for by " +
		"query (ingestion_health, usage).",
	rows: []row{
		{"Load", []panel{
			{
				title: "Largest websites",
				about: "Share of the stored records of the last minute that belongs to one of the ten largest websites of a " +
					"sink, by rank; the sink's log names one that brings more than half.",
				unit:    share,
				queries: []q{{"max by (rank) (millrace_sink_owner_share)", "number {{rank}}"}},
			},
			{
				title: "Largest websites now", about: "The same, as of now.", unit: share, kind: bars, warn: 0.5,
				queries: []q{{"max by (rank) (millrace_sink_owner_share)", "number {{rank}}"}},
			},
			{
				title:   "Events left out on purpose",
				about:   "Bots, excluded visitors and paths, browsers that ask not to be tracked.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_ingest_events_total", `outcome=~"bot|excluded|declined"`, "outcome"), "{{outcome}}"}},
			},
			{
				title: "Events refused for a caller's reason",
				about: "By code: limits, quotas, keys, bad input.",
				unit:  eventsPerSec,
				queries: []q{
					{rate("millrace_ingest_events_total", `outcome!~"accepted|bot|excluded|declined|SERVICE_UNAVAILABLE|DELIVERY_UNAVAILABLE|DEADLINE_EXCEEDED|BILLING_UNAVAILABLE|INTERNAL_SERVER_ERROR"`, "outcome"), "{{outcome}}"},
				},
			},
			{
				title:   "Bots",
				about:   "By kind.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_ingest_events_bots_total", "", "kind"), "{{kind}}"}},
			},
			{
				title: "Share of duplicates",
				about: "Of the records that were committed: clients that send again.",
				unit:  share,
				queries: []q{
					{rate("millrace_sink_records_total", `outcome="duplicate"`, "") + " / " +
						rate("millrace_sink_records_total", "", ""), "duplicates"},
				},
			},
		}},
		{"Limits and quotas", []panel{
			{
				title:   "Refused by limits",
				about:   "Requests answered 429, by family of routes and reason.",
				unit:    perSecond,
				queries: []q{{rate("millrace_limits_refused_total", "", "family, reason"), "{{family}} {{reason}}"}},
			},
			{
				title:   "Callers",
				about:   "Callers of which the limiter remembers something.",
				unit:    count,
				queries: []q{{"millrace_limits_callers", "{{instance}}"}},
			},
			{
				title:   "Shared through Redis",
				about:   "1 while processes limit together.",
				unit:    yesNo,
				queries: []q{{"min by (instance) (millrace_limits_shared)", "{{instance}}"}},
			},
			{
				title:   "Admitted without the others",
				about:   "Requests that a process admitted by itself because Redis did not answer: at most so many were too many.",
				unit:    perSecond,
				queries: []q{{rate("millrace_limits_local_total", "", "instance"), "{{instance}}"}},
			},
			{
				title:   "Time of Redis",
				about:   "Of one question about a request, failures included.",
				unit:    seconds,
				queries: quantiles("millrace_limits_settle_duration_seconds", ""),
			},
			{
				title:   "Quotas used up",
				about:   "Organizations whose events of this month are used up.",
				unit:    count,
				queries: []q{{"max(millrace_quota_organizations_exceeded)", "organizations"}},
			},
		}},
		{"Fair turns", []panel{
			{
				title: "Refused for one owner's load",
				about: "Edge: its share of memory. Query: its queue. Exports: too many at once.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_admission_refused_total", `reason="share"`, ""), "edge"},
					{rate("millrace_query_slots_refused_total", "", "queue"), "queries, {{queue}}"},
					{rate("millrace_exports_refused_total", "", "reason"), "exports, {{reason}}"},
				},
			},
			{
				title: "Counts not told",
				about: "Events that no count of ingestion_health tells of, because too many owners were counted at a time. " +
					"The events themselves are not affected.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_tally_uncounted_events_total", "", ""), "uncounted"}},
			},
			{
				title: "Sign-ins",
				about: "By result; refused ones came too soon after others.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_session_sign_ins_total", "", "result"), "{{result}}"},
					{rate("millrace_session_refused_attempts_total", "", ""), "refused"},
				},
			},
		}},
	},
}
