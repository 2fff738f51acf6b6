package main

const (
	ofLinks    = `host="links",instance=~"$instance"`
	ofInstance = `instance=~"$instance"`
)

var links = board{
	name: "links", title: "Millrace / Links", component: "ingest-edge",
	about: "The short-link host: requests by outcome, the cache of links, and the clicks.",
	rows: []row{
		{"Visitors", []panel{
			{
				title: "Requests by outcome",
				about: "Requests for short links by outcome. Requests for invalid paths are not counted.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_link_requests_total", ofInstance, "outcome"), "{{outcome}}"},
				},
			},
			{
				title: "Share of 5xx",
				about: "Share of requests answered 5xx. Above 1 % for five minutes this pages.",
				unit:  share, page: 0.01, queries: []q{{
					"(" + rate("millrace_http_requests_total", ofLinks+`,status=~"5.."`, "") + " or vector(0)) / " +
						rate("millrace_http_requests_total", ofLinks, ""),
					"5xx",
				}},
			},
			{
				title:   "Request time",
				about:   "Time from the header of a request until its response is ready.",
				unit:    seconds,
				queries: quantiles("millrace_http_request_duration_seconds", ofLinks),
			},
			{
				title:   "Responses by status",
				about:   "Completed requests by status.",
				unit:    perSecond,
				queries: []q{{rate("millrace_http_requests_total", ofLinks, "status"), "{{status}}"}},
			},
			{
				title:   "Requests in flight",
				about:   "Requests in flight. Beyond link.max_in_flight requests are answered 503.",
				unit:    count,
				queries: []q{{"millrace_http_requests_in_flight{" + ofLinks + "}", "{{instance}}"}},
			},
			{
				title:   "Connections and requests turned away",
				about:   "Connections closed and requests rejected before any work, by reason.",
				unit:    perSecond,
				queries: []q{{rate("millrace_http_turned_away_total", ofLinks, "reason"), "{{reason}}"}},
			},
		}},
		{"Cache of links", []panel{
			{
				title: "Lookups",
				about: "Lookups of links: hit (cached), miss (read from the metadata store) or stale (cached, while the store " +
					"is down). Stale lookups warn.",
				unit: perSecond,
				queries: []q{
					{rate("millrace_link_cache_requests_total", ofInstance, "outcome"), "{{outcome}}"},
				},
			},
			{
				title: "Share of hits",
				about: "Share of lookups answered from a current cache entry.",
				unit:  share,
				queries: []q{{
					rate("millrace_link_cache_requests_total", ofInstance+`,outcome="hit"`, "") + " / " +
						rate("millrace_link_cache_requests_total", ofInstance, ""),
					"hits",
				}},
			},
			{
				title: "Stale lookups",
				about: "Lookups answered from the cache while the metadata store is down, by instance.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_link_cache_requests_total", ofInstance+`,outcome="stale"`, "instance"), "{{instance}}"},
				},
			},
			{
				title: "Cache age",
				about: "Time since the cached links were known to be current. Above one hour this pages. After one day the host " +
					"serves no links.",
				unit: seconds,
				page: 3600,
				queries: []q{
					{"millrace_link_cache_age_seconds{" + ofInstance + "}", "{{instance}}"},
				},
			},
			{
				title:   "Links read from the store",
				about:   "Reads of links from the metadata store by outcome. absent means that the link does not exist.",
				unit:    perSecond,
				queries: []q{{rate("millrace_link_cache_loads_total", ofInstance, "outcome"), "{{outcome}}"}},
			},
			{
				title:   "Breaker",
				about:   "1 while reads of links from the metadata store are suspended after failures.",
				unit:    yesNo,
				queries: []q{{"millrace_link_cache_breaker_open{" + ofInstance + "}", "{{instance}}"}},
			},
			{
				title:   "Cached links",
				about:   "Links in the cache, up to link.cache_entries.",
				unit:    count,
				queries: []q{{"millrace_link_cache_entries{" + ofInstance + "}", "{{instance}}"}},
			},
			{
				title:   "Cache memory",
				about:   "Estimated memory of the cached links.",
				unit:    bytesIEC,
				queries: []q{{"millrace_link_cache_bytes{" + ofInstance + "}", "{{instance}}"}},
			},
			{
				title: "Changes and evictions",
				about: "Changes applied to the cache, failed polls for changes, and links evicted from a full cache.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_link_cache_changes_total", ofInstance, ""), "changes"},
					{rate("millrace_link_cache_look_failures_total", ofInstance, ""), "failed polls"},
					{rate("millrace_link_cache_evicted_total", ofInstance, ""), "evicted"},
				},
			},
		}},
		{"Custom domains", []panel{
			{
				title: "Failing domains",
				about: "Domains whose DNS record has been missing for three days. Their links still work. Any failing domain " +
					"warns.",
				unit: count, warn: 1, queries: []q{
					{"max(millrace_link_domains_failing)", "failing"},
				},
			},
			{
				title: "Stopped domain checks",
				about: "Daily checks that stopped because the resolver (domains.resolver) or the metadata store did not answer. " +
					"Domains are unaffected.",
				unit: perSecond,
				queries: []q{
					{rate("millrace_link_domains_check_failures_total", "", ""), "stopped checks"},
				},
			},
		}},
		{"Clicks", []panel{
			{
				title: "Redirects and clicks",
				about: "Redirected requests, including HEAD requests, and clicks that brokers acknowledged.",
				unit:  eventsPerSec,
				queries: []q{
					{rate("millrace_link_requests_total", ofInstance+`,outcome="redirected"`, ""), "redirected"},
					{rate("millrace_clicks_published_total", ofInstance, ""), "published"},
				},
			},
			{
				title: "Click buffer",
				about: "Share of link.max_buffered_bytes used by unacknowledged clicks. Above 50 % this pages; at 100 % new " +
					"clicks are dropped.",
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
				title:   "Unacknowledged clicks",
				about:   "Clicks that Kafka has not acknowledged yet. They are lost if the process dies.",
				unit:    count,
				queries: []q{{"millrace_clicks_buffered{" + ofInstance + "}", "{{instance}}"}},
			},
			{
				title:   "Clicks dropped",
				about:   "Lost clicks by reason. Any lost click pages.",
				unit:    eventsPerSec,
				queries: []q{{rate("millrace_clicks_dropped_total", ofInstance, "instance, reason"), "{{instance}} {{reason}}"}},
			},
			{
				title: "Lag of clicks", about: "Age of the oldest click that is not stored.", unit: seconds, warn: 60, page: 300,
				queries: []q{{`max(millrace_sink_lag_seconds{lane="clicks"})`, "clicks"}},
			},
			{
				title: "Links purged",
				about: "Links removed with their clicks, 30 days after their deletion, and failed purges.",
				unit:  perSecond,
				queries: []q{
					{rate("millrace_links_purged_total", "", ""), "removed"},
					{rate("millrace_links_purge_failures_total", "", ""), "failed purges"},
				},
			},
		}},
	},
}
