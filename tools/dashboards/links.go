package main

const (
	ofLinks    = `host="links",instance=~"$instance"`
	ofInstance = `instance=~"$instance"`
)

var links = board{
	name: "links", title: "Millrace / Links", component: "ingest-edge",
	about: "The host of short links: where visitors get, what it holds of links, and what becomes of clicks.",
	rows: []row{
		{"Visitors", []panel{
			{
				title: "Requests by outcome",
				about: "What visitors got: redirected, a page, or why not. Paths that can be no slug are not among them.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_link_requests_total", ofInstance, "outcome"), "{{outcome}}"},
				},
			},
			{title: "Share of 5xx", about: "Above 1 % for five minutes it pages.", unit: share, page: 0.01, queries: []q{{
				"(" + rate("millrace_http_requests_total", ofLinks+`,status=~"5.."`, "") + " or vector(0)) / " +
					rate("millrace_http_requests_total", ofLinks, ""),
				"5xx",
			}}},
			{
				title:   "Request time",
				about:   "From a request's header to its answer being ready.",
				unit:    seconds,
				queries: quantiles("millrace_http_request_duration_seconds", ofLinks),
			},
			{
				title:   "Answers by status",
				about:   "Answered requests by status.",
				unit:    perSecond,
				queries: []q{{rate("millrace_http_requests_total", ofLinks, "status"), "{{status}}"}},
			},
			{
				title:   "Requests in flight",
				about:   "Requests being served; at link.max_in_flight more are answered 503.",
				unit:    count,
				queries: []q{{"millrace_http_requests_in_flight{" + ofLinks + "}", "{{instance}}"}},
			},
			{
				title:   "Turned away",
				about:   "Connections closed or requests refused before anything was done.",
				unit:    perSecond,
				queries: []q{{rate("millrace_http_turned_away_total", ofLinks, "reason"), "{{reason}}"}},
			},
		}},
		{"What is held of links", []panel{
			{
				title: "Lookups",
				about: "Links that were held, were asked of the metadata store, or were told from memory while it is away. " +
					"Stale ones warn.",
				unit: perSecond,
				queries: []q{
					{rate("millrace_link_cache_requests_total", ofInstance, "outcome"), "{{outcome}}"},
				},
			},
			{
				title: "Share of hits",
				about: "Lookups that were answered by what is held and known to be right.",
				unit:  share,
				queries: []q{{
					rate("millrace_link_cache_requests_total", ofInstance+`,outcome="hit"`, "") + " / " +
						rate("millrace_link_cache_requests_total", ofInstance, ""),
					"hits",
				}},
			},
			{
				title: "Stale answers",
				about: "Links told from memory while the metadata store is away, by instance.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_link_cache_requests_total", ofInstance+`,outcome="stale"`, "instance"), "{{instance}}"},
				},
			},
			{
				title: "Age",
				about: "How long ago all that is held was known to be right. Above an hour it pages; at a day no link is answered.",
				unit:  seconds,
				page:  3600,
				queries: []q{
					{"millrace_link_cache_age_seconds{" + ofInstance + "}", "{{instance}}"},
				},
			},
			{
				title:   "Links asked of the store",
				about:   "By outcome; absent are those that do not exist.",
				unit:    perSecond,
				queries: []q{{rate("millrace_link_cache_loads_total", ofInstance, "outcome"), "{{outcome}}"}},
			},
			{
				title:   "Breaker",
				about:   "1 while links are not asked of the metadata store because the last reads failed.",
				unit:    yesNo,
				queries: []q{{"millrace_link_cache_breaker_open{" + ofInstance + "}", "{{instance}}"}},
			},
			{
				title:   "Links held",
				about:   "Up to link.cache_entries.",
				unit:    count,
				queries: []q{{"millrace_link_cache_entries{" + ofInstance + "}", "{{instance}}"}},
			},
			{
				title:   "Memory of links",
				about:   "About what they take.",
				unit:    bytesIEC,
				queries: []q{{"millrace_link_cache_bytes{" + ofInstance + "}", "{{instance}}"}},
			},
			{
				title: "Changes and evictions",
				about: "Changes that were followed, looks for them that failed, and links that gave way to others.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_link_cache_changes_total", ofInstance, ""), "changes"},
					{rate("millrace_link_cache_look_failures_total", ofInstance, ""), "failed looks"},
					{rate("millrace_link_cache_evicted_total", ofInstance, ""), "gave way"},
				},
			},
		}},
		{"Domains of organizations' own", []panel{
			{
				title: "Failing domains", about: "Domains whose record was not found for three days; they serve on. Any warns.",
				unit: count, warn: 1, queries: []q{
					{"max(millrace_link_domains_failing)", "failing"},
				},
			},
			{
				title: "Daily looks that were given up",
				about: "Because no resolver (domains.resolver) or no metadata store answered. No domain suffers from it.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_link_domains_check_failures_total", "", ""), "given up"},
				},
			},
		}},
		{"Clicks", []panel{
			{
				title: "Redirects and clicks",
				about: "Visitors that were sent on, those that only asked by HEAD included, and clicks that brokers acknowledged.",
				unit:  eventsPerSec,
				queries: []q{
					{rate("millrace_link_requests_total", ofInstance+`,outcome="redirected"`, ""), "redirected"},
					{rate("millrace_clicks_published_total", ofInstance, ""), "published"},
				},
			},
			{
				title: "Buffer",
				about: "Share of link.max_buffered_bytes that clicks take which are not acknowledged yet; above 50 % it pages, " +
					"at 100 % new ones are dropped.",
				unit: share,
				page: 0.5,
				queries: []q{
					{
						"millrace_clicks_buffered_bytes{" + ofInstance + "} / millrace_clicks_buffer_limit_bytes{" + ofInstance + "}",
						"{{instance}}",
					},
				},
			},
			{
				title:   "Clicks not acknowledged yet",
				about:   "A process that dies loses them.",
				unit:    count,
				queries: []q{{"millrace_clicks_buffered{" + ofInstance + "}", "{{instance}}"}},
			},
			{
				title:   "Clicks dropped",
				about:   "Clicks that are lost, by reason. Any pages.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_clicks_dropped_total", ofInstance, "instance, reason"), "{{instance}} {{reason}}"}},
			},
			{
				title: "Lag", about: "Age of the oldest click that is not stored.", unit: seconds, warn: 60, page: 300,
				queries: []q{{`max(millrace_sink_lag_seconds{lane="clicks"})`, "clicks"}},
			},
			{
				title: "Links removed for good",
				about: "With their clicks, 30 days after they were deleted; and passes that failed.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_links_purged_total", "", ""), "removed"},
					{rate("millrace_links_purge_failures_total", "", ""), "failed passes"},
				},
			},
		}},
	},
}
