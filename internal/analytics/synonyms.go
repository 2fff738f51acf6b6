package analytics

// synonyms map names that callers try to the name that the API has, for suggestions. They
// are lower case, and none of them is a name or an alias itself.
type synonyms map[string]string

// typeSynonyms are synonyms of query types.
var typeSynonyms = synonyms{
	"bounce_rate":     "summary_metrics",
	"clicks":          "link_total_clicks",
	"devices":         "device_types",
	"events":          "custom_events",
	"journeys":        "paths",
	"landing_pages":   "entry_pages",
	"locations":       "country",
	"os":              "os_name",
	"page_views":      "summary_metrics",
	"pageviews":       "summary_metrics",
	"referrers":       "top_referrers",
	"sources":         "traffic_sources",
	"timeseries":      "events_by_date",
	"unique_visitors": "summary_metrics",
	"urls":            "top_pages",
	"users":           "profile_list",
	"utm":             "utm_sources",
	"visitors":        "summary_metrics",
	"web_vitals":      "vitals_overview",
}

// fieldSynonyms are synonyms of filter fields.
var fieldSynonyms = synonyms{
	"country_code":     "country",
	"hostname":         "host",
	"operating_system": "os_name",
	"page":             "path",
	"url":              "path",
	"user_id":          "profile_id",
	"visitor_id":       "anonymous_id",
}

// keySynonyms are synonyms of members of a request.
var keySynonyms = synonyms{
	"from":     "startDate",
	"interval": "granularity",
	"metrics":  "parameters",
	"order_by": "sortBy",
	"orderby":  "sortBy",
	"to":       "endDate",
}
