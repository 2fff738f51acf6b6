package main

// kinds says what the list's tags make of an entry, the first that it has. An
// empty kind is a client like any other: the libraries with which servers and
// apps send events, and browsers without a window, with which people test.
// What acts by itself on behalf of an AI stands in package enrich.
var kinds = []struct{ tag, kind string }{
	{"http-library", ""},
	{"browser-automation", ""},
	{"ai-crawler", "ai_crawler"},
	{"search-engine", "crawler"},
	{"academic", "crawler"},
	{"social-preview", "preview"},
	{"monitoring", "monitor"},
	{"feed-reader", "feed"},
	{"archiver", "archiver"},
	{"advertising", "advertising"},
	{"scanner", "scanner"},
	{"seo", "seo"},
}

// crawlersAnyway are entries of those tags that are whole crawlers, and what kind.
var crawlersAnyway = map[string]string{
	"HTTrack":       "archiver",
	"SimpleCrawler": "crawler",
	"crawler4j":     "crawler",
	"phpcrawl":      "crawler",
	"larbin":        "crawler",
	"GoParserBot":   "crawler",
	"rawweb-bot":    "crawler",
}

// people are entries that also fit what people use.
var people = []string{
	"MetaIAB Facebook", // the browser in the app
	`Tumblr\/`,         // the app
	"Viber",
	`mail\.ru`,  // addresses in the agents of people's browsers
	"NextCloud", // the file client
	// A build of Android 15, which many phones name in the agents of their apps.
	`AP3A\.240617\.008`,
}

// libraries are entries of other tags that name what programs send requests with:
// an HTTP library, or a platform that runs what its customers wrote.
var libraries = []string{
	"AppEngine-Google",
	"Google-Apps-Script",
	`IFTTT\/`,
	"Indy Library",
	`Integromat\/`,
	`Make\/`, // Integromat today
	"Mollie HTTP client",
	`Retool\/`,
	"rss-parser",
	`SFDC-Callout\/`, // Apex of Salesforce
	`WordPress\/`,    // its plugins
	"Zapier",
}

// narrowed are entries that fit browsers of people as they stand, and what is
// searched for instead.
var narrowed = map[string][]literal{
	`Asana\/`:  {{text: "Asana/", also: `WebsiteMetadataRetriever`}}, // not the desktop app
	`Notion\/`: {{text: "Notion/", also: `Notion/1\.0 \(https`}},     // likewise
	"Sogou": {
		{text: "Sogou web spider"},
		{text: "Sogou News Spider"},
		{text: "Sogou Pic Spider"},
		{text: "Sogou inst spider"},
		{text: "Sogou Orion spider"},
		{text: "Sogou head spider"},
		{text: "Sogou-Test-Spider"},
		{text: "Sogou spider"},
	},
	"speedy":  {{text: "Speedy Spider"}, {text: "speedy_spider"}},
	"Sonic":   {{text: "RankSonicSiteAuditor"}, {text: "compatible; Sonic/"}},
	"Synapse": {{text: "Synapse (bot"}},
}
