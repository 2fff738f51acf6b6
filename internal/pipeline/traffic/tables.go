package traffic

import "strings"

// The tables say who comes, with what, and from where. Weights are in the hundred or
// so; a row's texts are those that the ingestion host finds out itself, which a test
// compares.

// agentRow is a kind of browser on a kind of machine.
type agentRow struct {
	weight int
	// agent is the user agent; %s stands for the version in full.
	agent               string
	browser             string
	versions            []versionRow
	os, osVersion       string
	device              string
	screens             []string
	connections         []string
	bot, botKind        string
	pages, interactions int // of a visit, and of a page, at most

	agents []string // by version
}

// written returns rows with their user agents written out.
func written(rows []agentRow) []agentRow {
	for i := range rows {
		for _, v := range rows[i].versions {
			rows[i].agents = append(rows[i].agents, strings.ReplaceAll(rows[i].agent, "%s", v.full))
		}
	}
	return rows
}

// versionRow is a browser's version: in full, and as it is stored.
type versionRow struct{ full, short string }

var (
	chromeVersions  = []versionRow{{"142.0.0.0", "142"}, {"141.0.0.0", "141"}, {"140.0.0.0", "140"}, {"138.0.0.0", "138"}}
	safariVersions  = []versionRow{{"26.1", "26.1"}, {"18.6", "18.6"}, {"18.5", "18.5"}, {"17.6", "17.6"}}
	firefoxVersions = []versionRow{{"145.0", "145"}, {"144.0", "144"}, {"140.0", "140"}}
	wideScreens     = []string{"1920x1080", "2560x1440", "1536x864", "1366x768", "1440x900"}
	phoneScreens    = []string{"390x844", "412x915", "393x852", "360x800", "430x932"}
	tabletScreens   = []string{"820x1180", "1024x1366", "800x1280"}
	wired           = []string{"4g", "4g", "4g", "3g"}
	wireless        = []string{"4g", "4g", "3g", "slow-2g"}
	noBrowser       = []versionRow{{}}
)

const (
	desktop, mobile, tablet = "desktop", "mobile", "tablet"
	manyPages, fewPages     = 14, 9
)

var agents = newChoice(written([]agentRow{
	{
		weight:  26,
		agent:   "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%s Safari/537.36",
		browser: "Chrome", versions: chromeVersions, os: "Windows", osVersion: "10", device: desktop, screens: wideScreens,
		connections: wired, pages: manyPages, interactions: 60,
	},
	{
		weight: 10,
		agent: "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%s " +
			"Safari/537.36",
		browser: "Chrome", versions: chromeVersions, os: "macOS", osVersion: "10.15", device: desktop, screens: wideScreens,
		connections: wired, pages: manyPages, interactions: 60,
	},
	{
		weight: 6,
		agent: "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 " +
			"Safari/537.36 Edg/%s",
		browser: "Edge", versions: chromeVersions, os: "Windows", osVersion: "10", device: desktop, screens: wideScreens,
		connections: wired, pages: manyPages, interactions: 60,
	},
	{
		weight: 4, agent: "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/%s", browser: "Firefox",
		versions: firefoxVersions, os: "Windows", osVersion: "10", device: desktop, screens: wideScreens, connections: wired,
		pages: manyPages, interactions: 60,
	},
	{
		weight: 2, agent: "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/%s", browser: "Firefox",
		versions: firefoxVersions, os: "Linux", device: desktop, screens: wideScreens, connections: wired, pages: manyPages,
		interactions: 60,
	},
	{
		weight: 6,
		agent: "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/%s " +
			"Safari/605.1.15",
		browser: "Safari", versions: safariVersions, os: "macOS", osVersion: "10.15", device: desktop, screens: wideScreens,
		connections: []string{""}, pages: manyPages, interactions: 60,
	},
	{
		weight: 20,
		agent: "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) " +
			"Version/%s Mobile/15E148 Safari/604.1",
		browser: "Safari", versions: safariVersions, os: "iOS", osVersion: "18.6", device: mobile, screens: phoneScreens,
		connections: []string{""}, pages: fewPages, interactions: 25,
	},
	{
		weight:  18,
		agent:   "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%s Mobile Safari/537.36",
		browser: "Chrome", versions: chromeVersions, os: "Android", osVersion: "10", device: mobile, screens: phoneScreens,
		connections: wireless, pages: fewPages, interactions: 25,
	},
	{
		weight: 3,
		agent: "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/%s " +
			"Chrome/136.0.0.0 Mobile Safari/537.36",
		browser: "Samsung Internet", versions: []versionRow{{"29.0", "29"}, {"28.0", "28"}}, os: "Android", osVersion: "10",
		device: mobile, screens: phoneScreens, connections: wireless, pages: fewPages, interactions: 25,
	},
	{
		weight: 3,
		agent: "Mozilla/5.0 (iPad; CPU OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/%s " +
			"Mobile/15E148 Safari/604.1",
		browser: "Safari", versions: safariVersions, os: "iOS", osVersion: "18.6", device: tablet, screens: tabletScreens,
		connections: []string{""}, pages: manyPages, interactions: 30,
	},
}), func(a *agentRow) int { return a.weight })

// bots are programs that run a page's script and say who they are.
var bots = newChoice(written([]agentRow{
	{
		weight: 5,
		agent: "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; " +
			"+http://www.google.com/bot.html) Chrome/142.0.0.0 Safari/537.36",
		versions: noBrowser, device: "other", bot: "Googlebot", botKind: "crawler", screens: []string{"1024x768"},
		connections: []string{""}, pages: 3,
	},
	{
		weight: 3,
		agent: "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; " +
			"+http://www.bing.com/bingbot.htm) Chrome/142.0.0.0 Safari/537.36",
		versions: noBrowser, device: "other", bot: "bingbot", botKind: "crawler", screens: []string{"1024x768"},
		connections: []string{""}, pages: 3,
	},
	{
		weight:   2,
		agent:    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
		versions: noBrowser, device: "other", bot: "GPTBot", botKind: "ai_crawler", screens: []string{"1024x768"},
		connections: []string{""}, pages: 3,
	},
}), func(a *agentRow) int { return a.weight })

// placeRow is where visitors are, with the hours by which their clocks are ahead of
// UTC.
type placeRow struct {
	weight             int
	country            string
	language, timezone string
	ahead              int
	cities             []cityRow
}

type cityRow struct{ region, city string }

var places = newChoice([]placeRow{
	{
		30, "US", "en-US", "America/New_York", -5,
		[]cityRow{
			{"New York", "New York"},
			{"California", "Los Angeles"},
			{"Texas", "Austin"},
			{"Illinois", "Chicago"},
			{"Washington", "Seattle"},
		},
	},
	{
		10, "DE", "de-DE", "Europe/Berlin", 1, []cityRow{{"Berlin", "Berlin"}, {"Bavaria", "Munich"}, {"Hamburg", "Hamburg"}},
	},
	{
		9, "GB", "en-GB", "Europe/London", 0,
		[]cityRow{{"England", "London"}, {"England", "Manchester"}, {"Scotland", "Edinburgh"}},
	},
	{
		8, "IN", "en-IN", "Asia/Kolkata", 5,
		[]cityRow{{"Maharashtra", "Mumbai"}, {"Karnataka", "Bengaluru"}, {"Delhi", "Delhi"}},
	},
	{6, "FR", "fr-FR", "Europe/Paris", 1, []cityRow{{"Île-de-France", "Paris"}, {"Auvergne-Rhône-Alpes", "Lyon"}}},
	{
		6, "BR", "pt-BR", "America/Sao_Paulo", -3,
		[]cityRow{{"São Paulo", "São Paulo"}, {"Rio de Janeiro", "Rio de Janeiro"}},
	},
	{5, "CA", "en-CA", "America/Toronto", -5, []cityRow{{"Ontario", "Toronto"}, {"Quebec", "Montreal"}}},
	{5, "JP", "ja-JP", "Asia/Tokyo", 9, []cityRow{{"Tokyo", "Tokyo"}, {"Osaka", "Osaka"}}},
	{4, "AU", "en-AU", "Australia/Sydney", 10, []cityRow{{"New South Wales", "Sydney"}, {"Victoria", "Melbourne"}}},
	{4, "ES", "es-ES", "Europe/Madrid", 1, []cityRow{{"Madrid", "Madrid"}, {"Catalonia", "Barcelona"}}},
	{4, "NL", "nl-NL", "Europe/Amsterdam", 1, []cityRow{{"North Holland", "Amsterdam"}}},
	{3, "PL", "pl-PL", "Europe/Warsaw", 1, []cityRow{{"Mazovia", "Warsaw"}}},
	{3, "AT", "de-AT", "Europe/Vienna", 1, []cityRow{{"Vienna", "Vienna"}, {"Styria", "Graz"}}},
	{3, "SE", "sv-SE", "Europe/Stockholm", 1, []cityRow{{"Stockholm", "Stockholm"}}},
	{2, "ZA", "en-ZA", "Africa/Johannesburg", 2, []cityRow{{"Gauteng", "Johannesburg"}}},
	{2, "NP", "ne-NP", "Asia/Kathmandu", 6, []cityRow{{"Bagmati", "Kathmandu"}}},
}, func(p *placeRow) int { return p.weight })

// hours say how many visits begin in each hour of a visitor's day.
var hours = newChoice([]hourRow{
	{0, 10},
	{1, 6},
	{2, 4},
	{3, 3},
	{4, 3},
	{5, 5},
	{6, 10},
	{7, 18},
	{8, 28},
	{9, 36},
	{10, 40},
	{11, 40},
	{12, 40},
	{13, 40},
	{14, 39},
	{15, 38},
	{16, 37},
	{17, 36},
	{18, 36},
	{19, 38},
	{20, 40},
	{21, 38},
	{22, 28},
	{23, 18},
}, func(h *hourRow) int { return h.weight })

type hourRow struct{ hour, weight int }

// sourceRow is where a visit comes from, and by which campaign.
type sourceRow struct {
	weight           int
	url              string
	host, kind, name string
	source, medium   string
	clickKind        string
}

var sources = newChoice([]sourceRow{
	{weight: 34, kind: "direct"},
	{weight: 28, url: "https://google.com/", host: "google.com", kind: "search", name: "Google"},
	{
		weight: 5, url: "https://google.com/", host: "google.com", kind: "search", name: "Google", source: "google",
		medium: "cpc", clickKind: "gclid",
	},
	{weight: 4, url: "https://bing.com/", host: "bing.com", kind: "search", name: "Bing"},
	{weight: 3, url: "https://duckduckgo.com/", host: "duckduckgo.com", kind: "search", name: "DuckDuckGo"},
	{
		weight: 4, url: "https://l.facebook.com/", host: "l.facebook.com", kind: "social", name: "Facebook",
		source: "facebook", medium: "paid_social", clickKind: "fbclid",
	},
	{weight: 4, url: "https://t.co/", host: "t.co", kind: "social", name: "X"},
	{
		weight: 3, url: "https://linkedin.com/", host: "linkedin.com", kind: "social", name: "LinkedIn", source: "linkedin",
		medium: "social",
	},
	{weight: 3, url: "https://reddit.com/", host: "reddit.com", kind: "social", name: "Reddit"},
	{weight: 3, url: "https://chatgpt.com/", host: "chatgpt.com", kind: "ai", name: "ChatGPT", source: "chatgpt.com"},
	{weight: 1, url: "https://perplexity.ai/", host: "perplexity.ai", kind: "ai", name: "Perplexity"},
	{weight: 2, url: "https://youtube.com/", host: "youtube.com", kind: "video", name: "YouTube"},
	{weight: 4, kind: "direct", source: "newsletter", medium: "email"},
	{weight: 2, url: "https://news.example.org/links", host: "news.example.org", kind: "other", name: "news.example.org"},
}, func(s *sourceRow) int { return s.weight })

// campaigns are the names of campaigns, of those sources that have a medium.
var campaigns = []string{"spring_sale", "black_friday", "brand", "launch", "retargeting", "weekly_digest"}

// links are where visitors leave to.
var links = []struct{ href, text string }{
	{"https://github.com/example/project", "GitHub"},
	{"https://docs.example.org/start", "Documentation"},
	{"https://pay.example.net/checkout", "Pay"},
	{"https://twitter.com/example", "Follow us"},
	{"https://apps.apple.com/app/id1234567890", "App Store"},
}

// faults are what fails in pages.
var faults = newChoice([]faultRow{
	{40, "TypeError", "Cannot read properties of undefined (reading 'price')", 17, 9},
	{25, "ReferenceError", "gtag is not defined", 3, 1},
	{15, "Error", "Loading chunk 42 failed.", 1, 2048},
	{12, "SyntaxError", "Unexpected token '<'", 1, 1},
	{8, "RangeError", "Maximum call stack size exceeded", 230, 14},
}, func(f *faultRow) int { return f.weight })

type faultRow struct {
	weight        int
	name, message string
	line, column  int
}

// metricRow is one web vital: its middle, how far values spread, and on a phone.
type metricRow struct {
	name           string
	middle, spread float64
	phone          float64
}

var metrics = []metricRow{
	{"FCP", 1100, 4, 1.5},
	{"LCP", 1800, 4, 1.6},
	{"CLS", 0.04, 8, 1.2},
	{"INP", 90, 5, 1.8},
	{"TTFB", 320, 5, 1.3},
	{"FPS", 57, 1.2, 0.9},
}
