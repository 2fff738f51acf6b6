package enrich

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAgentsOfPeopleAreRead(t *testing.T) {
	t.Parallel()
	const (
		webkit = "AppleWebKit/537.36 (KHTML, like Gecko) "
		apple  = "AppleWebKit/605.1.15 (KHTML, like Gecko) "
		iPhone = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4_1 like Mac OS X) "
		win    = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) "
	)
	for _, tc := range []struct {
		name, agent string
		want        Agent
	}{
		{
			"Chrome on Windows", win + webkit + "Chrome/126.0.0.0 Safari/537.36",
			Agent{"Chrome", "126", "Windows", "10", Desktop, "", ""},
		},
		{
			"Edge", win + webkit + "Chrome/126.0.0.0 Safari/537.36 Edg/126.0.2592.68",
			Agent{"Edge", "126", "Windows", "10", Desktop, "", ""},
		},
		{
			"Firefox", "Mozilla/5.0 (Windows NT 6.1; rv:115.0) Gecko/20100101 Firefox/115.6",
			Agent{"Firefox", "115.6", "Windows", "7", Desktop, "", ""},
		},
		{
			"Safari on a Mac", "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) " + apple + "Version/17.4 Safari/605.1.15",
			Agent{"Safari", "17.4", "macOS", "10.15", Desktop, "", ""},
		},
		{
			"Safari on an iPhone", iPhone + apple + "Version/17.4 Mobile/15E148 Safari/604.1",
			Agent{"Safari", "17.4", "iOS", "17.4", Mobile, "", ""},
		},
		{"an app's view on an iPhone", iPhone + apple + "Mobile/15E148", Agent{"Safari", "", "iOS", "17.4", Mobile, "", ""}},
		{
			"Chrome on an iPad",
			"Mozilla/5.0 (iPad; CPU OS 17_0 like Mac OS X) " + apple + "CriOS/120.0.6099.101 Mobile/15E148 Safari/604.1",
			Agent{"Chrome", "120", "iOS", "17", Tablet, "", ""},
		},
		{
			"Chrome on a phone", "Mozilla/5.0 (Linux; Android 10; K) " + webkit + "Chrome/126.0.0.0 Mobile Safari/537.36",
			Agent{"Chrome", "126", "Android", "10", Mobile, "", ""},
		},
		{
			"Chrome on a tablet", "Mozilla/5.0 (Linux; Android 10; K) " + webkit + "Chrome/126.0.0.0 Safari/537.36",
			Agent{"Chrome", "126", "Android", "10", Tablet, "", ""},
		},
		{
			"Chrome on a phone that is called a bot",
			"Mozilla/5.0 (Linux; Android 10; CUBOT_X30) " + webkit + "Chrome/126.0.0.0 Mobile Safari/537.36",
			Agent{"Chrome", "126", "Android", "10", Mobile, "", ""},
		},
		{"Samsung Internet", "Mozilla/5.0 (Linux; Android 14; SAMSUNG SM-S918B) " + webkit + "SamsungBrowser/24.0 " +
			"Chrome/117.0.0.0 Mobile Safari/537.36", Agent{"Samsung Internet", "24", "Android", "14", Mobile, "", ""}},
		{
			"Instagram", iPhone + apple + "Mobile/15E148 Instagram 320.0.0.42 (iPhone14,5; iOS 17_4_1; en_US)",
			Agent{"Instagram App", "320", "iOS", "17.4", Mobile, "", ""},
		},
		{"Facebook", "Mozilla/5.0 (Linux; Android 16; Pixel 10; wv) " + webkit + "Version/4.0 Chrome/146.0.7680.174 " +
			"Mobile Safari/537.36 [FB_IAB/FB4A;FBAV/505.0.0.1;]", Agent{"Facebook App", "505", "Android", "16", Mobile, "", ""}},
		{"WeChat", "Mozilla/5.0 (Linux; Android 13; X) " + webkit + "Version/4.0 Chrome/107.0 Mobile Safari/537.36 " +
			"MMWEBID/1 MicroMessenger/8.0.47.2560", Agent{"WeChat", "8", "Android", "13", Mobile, "", ""}},
		{
			"an unknown app in a Chrome view",
			"Mozilla/5.0 (Linux; Android 13; X) " + webkit + "Chrome/107.0 Mobile Safari/537.36 ShopOfMine/3.1",
			Agent{"Chrome", "107", "Android", "13", Mobile, "", ""},
		},
		{
			"Chrome on Linux", "Mozilla/5.0 (X11; Linux x86_64) " + webkit + "Chrome/126.0.0.0 Safari/537.36",
			Agent{"Chrome", "126", "Linux", "", Desktop, "", ""},
		},
		{
			"Chrome on ChromeOS", "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) " + webkit + "Chrome/126.0.0.0 Safari/537.36",
			Agent{"Chrome", "126", "ChromeOS", "", Desktop, "", ""},
		},
		{
			"a television of Samsung",
			"Mozilla/5.0 (SMART-TV; LINUX; Tizen 6.0) " + webkit + "76.0.3809.146/6.0 TV Safari/537.36",
			Agent{"", "", "Tizen", "6", TV, "", ""},
		},
		{
			"a PlayStation", "Mozilla/5.0 (PlayStation; PlayStation 5/2.26) " + apple + "Version/13.0 Safari/605.1.15",
			Agent{"Safari", "13", "PlayStation", "5", Console, "", ""},
		},
		{
			"Internet Explorer", "Mozilla/5.0 (Windows NT 6.3; Trident/7.0; rv:11.0) like Gecko",
			Agent{"Internet Explorer", "11", "Windows", "8.1", Desktop, "", ""},
		},
		{
			"an app's view on a phone whose build the list takes for a scanner",
			"Mozilla/5.0 (Linux; Android 15; CPH2557 Build/AP3A.240617.008; wv) " + webkit +
				"Version/4.0 Chrome/142.0.7444.142 Mobile Safari/537.36",
			Agent{"Chrome", "142", "Android", "15", Mobile, "", ""},
		},
		{
			"the app of Notion", "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) " + webkit +
				"Notion/4.5.0 Chrome/132.0.6834.196 Electron/34.1.1 Safari/537.36",
			Agent{"Electron", "34.1", "macOS", "10.15", Desktop, "", ""},
		},
		{
			"the app of Asana", win + webkit + "Asana/2.3.0 Chrome/124.0.6367.243 Electron/30.4.0 Safari/537.36",
			Agent{"Electron", "30.4", "Windows", "10", Desktop, "", ""},
		},
		{"nobody", "", Agent{}},
		{"something else", "zzz", Agent{Device: OtherDevice}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := NewAgents(0)
			defer a.Close()
			if diff := cmp.Diff(tc.want, *a.Of([]byte(tc.agent))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.agent, diff)
			}
		})
	}
}

// What sends events for servers and apps, and what people test with, is never a
// bot, also where the list of crawlers has it.
func TestLibrariesAndHeadlessBrowsersAreNoBots(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]string{
		"okhttp/4.12.0":             "okhttp",
		"curl/8.9.1":                "curl",
		"Wget/1.21.4":               "Wget",
		"axios/1.7.2":               "axios",
		"python-requests/2.32.3":    "python-requests",
		"python-httpx/0.27.0":       "python-httpx",
		"Python-urllib/3.12":        "Python-urllib",
		"Python/3.12 aiohttp/3.9.5": "aiohttp",
		"Go-http-client/2.0":        "Go-http-client",
		"node-fetch/1.0 (+https://github.com/bitinn/node-fetch)": "node-fetch",
		"node-fetch":                             "node-fetch",
		"undici":                                 "undici",
		"node":                                   "",
		"Java/17.0.9":                            "Java",
		"Java-http-client/21.0.2":                "Java-http-client",
		"Apache-HttpClient/4.5.14 (Java/17.0.9)": "Apache-HttpClient",
		"Jetty/9.4.53":                           "Jetty",
		"AHC/2.1":                                "AsyncHttpClient",
		"libwww-perl/6.72":                       "libwww-perl",
		"Dart/3.4 (dart:io)":                     "Dart",
		"MyApp/2.1 CFNetwork/1494.0.7 Darwin/23.4.0":                   "CFNetwork",
		"Dalvik/2.1.0 (Linux; U; Android 14; Pixel 8)":                 "Dalvik",
		"Dalvik/2.1.0 (Linux; U; Android 15; X Build/AP3A.240617.008)": "Dalvik",
		"Mozilla/3.0 (compatible; Indy Library)":                       "",
		"Mollie HTTP client/1.0":                                       "",
		"rss-parser":                                                   "",
		"WordPress/6.8; https://example.com":                           "",
		"SFDC-Callout/64.0":                                            "",
		"Zapier":                                                       "",
		"Make/production":                                              "",
		"Integromat/production":                                        "",
		"IFTTT/1.0 (https://ifttt.com/support)":                        "",
		"Retool/2.0 (+https://docs.tryretool.com/docs/apis)":           "",
		"AppEngine-Google; (+http://code.google.com/appengine; appid: example)":                             "",
		"Mozilla/5.0 (compatible; Google-Apps-Script; beanserver; +https://script.google.com; id: UAEmdDd)": "",
		"GuzzleHttp/7": "Guzzle",
		"PHP-Curl-Class/9.19.2 PHP/8.3 curl/8.5.0": "curl",
		"Faraday v2.9.0":                      "Faraday",
		"PostmanRuntime/7.39.0":               "Postman",
		"HTTPie/3.2.2":                        "HTTPie",
		"Scrapy/2.11.2 (+https://scrapy.org)": "Scrapy",
		"Amazon CloudFront":                   "",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/126.0.0.0 " +
			"Safari/537.36": "Headless Chrome",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/538.1 (KHTML, like Gecko) PhantomJS/2.1.1 " +
			"Safari/538.1": "PhantomJS",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36 " +
			"Playwright/1.40.0": "Chrome",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/120.0.0.0 Safari/537.36 " +
			"Puppeteer": "Headless Chrome",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36; " +
			"Selenium": "Chrome",
		"Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Code/1.115.0 Chrome/142.0.0.0 " +
			"Electron/39.8.5 Safari/537.36": "Electron",
		"Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/98.0 Safari/537.36 SE 2.X MetaSr 1.0 " +
			"SogouMSE": "Chrome",
	} {
		if a := parseAgent(agent); a.Bot != "" || a.BotKind != "" || a.Browser != want {
			t.Errorf("%s is %+v, want the client %q", agent, a, want)
		}
	}
}

func TestDeclaredBotsAreBots(t *testing.T) {
	t.Parallel()
	const page = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; "
	for agent, want := range map[string]Agent{
		page + "Googlebot/2.1; +http://www.google.com/bot.html) Chrome/126.0 Safari/537.36": {
			Bot: "Googlebot", BotKind: BotCrawler,
		},
		page + "bingbot/2.0; +http://www.bing.com/bingbot.htm)": {
			Bot: "bingbot", BotKind: BotCrawler,
		},
		page + "GPTBot/1.2; +https://openai.com/gptbot)": {
			Bot: "GPTBot", BotKind: BotAICrawler,
		},
		page + "OAI-SearchBot/1.0; +https://openai.com/searchbot)": {
			Bot: "OAI-SearchBot", BotKind: BotAICrawler,
		},
		page + "ChatGPT-User/1.0; +https://openai.com/bot)": {
			Bot: "ChatGPT-User", BotKind: BotAIAssistant,
		},
		page + "ClaudeBot/1.0; +claudebot@anthropic.com)": {
			Bot: "ClaudeBot", BotKind: BotAICrawler,
		},
		page + "Claude-User/1.0; +Claude-User@anthropic.com)": {
			Bot: "Claude-User", BotKind: BotAIAssistant,
		},
		page + "PerplexityBot/1.0; +https://perplexity.ai/perplexitybot)": {
			Bot: "PerplexityBot", BotKind: BotAICrawler,
		},
		page + "Perplexity-User/1.0; +https://perplexity.ai/perplexity-user)": {
			Bot: "Perplexity-User", BotKind: BotAIAssistant,
		},
		page + "Amazonbot/0.1; +https://developer.amazon.com/support/amazonbot)": {
			Bot: "Amazonbot", BotKind: BotAICrawler,
		},
		"Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 Mobile Safari/537.36 (compatible; Bytespider)": {
			Bot: "Bytespider", BotKind: BotAICrawler,
		},
		"CCBot/2.0 (https://commoncrawl.org/faq/)": {
			Bot: "CCBot", BotKind: BotAICrawler,
		},
		"meta-externalagent/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)": {
			Bot: "meta-externalagent", BotKind: BotAICrawler,
		},
		"meta-externalfetcher/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)": {
			Bot: "meta-externalfetcher", BotKind: BotAIAssistant,
		},
		"facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)": {
			Bot: "facebookexternalhit", BotKind: BotPreview,
		},
		"Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)": {
			Bot: "UptimeRobot", BotKind: BotMonitor,
		},
		"Feedly/1.0 (+http://www.feedly.com/fetcher.html)": {
			Bot: "Feedly", BotKind: BotFeed,
		},
		"Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)": {
			Bot: "AhrefsBot", BotKind: BotSEO,
		},
		"Mozilla/5.0 (compatible; archive.org_bot +http://archive.org/details/archive.org_bot)": {
			Bot: "archive.org_bot", BotKind: BotArchiver,
		},
		"Notion/1.0 (https://notion.so; team@makenotion.com)": {
			Bot: "Notion", BotKind: BotPreview,
		},
		"Asana/1.4.0 WebsiteMetadataRetriever": {
			Bot: "Asana", BotKind: BotSEO,
		},
		"rss-parser / Buttondown": {
			Bot: "Buttondown", BotKind: BotFeed,
		},
		"sentry/24.1.0 (https://sentry.io)": {
			Bot: "sentry", BotKind: BotMonitor,
		},
	} {
		want.Device = OtherDevice
		if diff := cmp.Diff(want, parseAgent(agent)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", agent, diff)
		}
	}
}

func TestNoTextOfAnAgentGetsOut(t *testing.T) {
	t.Parallel()
	const mark = "Visitor4711"
	for _, shape := range []string{
		"X", "X/1.0", "Mozilla/5.0 (X) AppleWebKit/537.36 Chrome/120.0 Safari/537.36 X/3",
		"Mozilla/5.0 (Linux; Android 13; X) Mobile",
		"Mozilla/5.0 (Windows NT X) Firefox/X", "Mozilla/5.0 (Macintosh; Intel Mac OS X) Version/X Safari/X", "curl/X",
		"Opera/9 (X) Presto/X", "Mozilla/5.0 (compatible; Googlebot/2.1; X)", "Instagram X (iPhone; iOS X)",
	} {
		agent := strings.ReplaceAll(shape, "X", mark)
		if a := parseAgent(agent); strings.Contains(fmt.Sprint(a), mark) {
			t.Errorf("%s gives %+v", agent, a)
		}
	}
}

func TestALongAgentIsCut(t *testing.T) {
	t.Parallel()
	a := NewAgents(0)
	defer a.Close()
	at := strings.Repeat(" ", MaxAgentLen-len("curl/8"))
	if got := a.Of([]byte(at + "curl/8")); got.Browser != "curl" {
		t.Errorf("what ends at the bound is not read: %+v", got)
	}
	if got := a.Of([]byte(" " + at + "curl/8")); got.BrowserVersion != "" {
		t.Errorf("what is behind the bound is read: %+v", got)
	}
}

func TestHostileAgentsDoNotGrowMemory(t *testing.T) { //nolint:paralleltest // reads the heap
	const size = 1 << 20
	a := NewAgents(size)
	defer a.Close()
	r := rand.New(rand.NewPCG(1, 2))
	agent := make([]byte, MaxAgentLen)
	before := heap()
	for range 20_000 {
		for i := range agent {
			agent[i] = ' ' + byte(r.IntN(95))
		}
		a.Of(agent)
	}
	a.known.Wait()
	if grown := heap() - before; grown > 4*size {
		t.Errorf("20,000 agents left %d bytes, of %d that are allowed", grown, size)
	}
	runtime.KeepAlive(a)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestShortVersionHasAtMostTwoNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"126.0.6478.127": "126", "17.4.1": "17.4", "17_4_1": "17.4", "10": "10", "9.10": "9.10", "9.01": "9.01", "1.": "1",
		"": "", ".5": "",
		"x86_64": "", "5/2.26": "5", "0.0": "0", "12345678901234567890": "123456789012", "7.x": "7",
	} {
		if got := shortVersion(text); got != want {
			t.Errorf("shortVersion(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzAgent(f *testing.F) {
	f.Add([]byte(
		"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36"))
	f.Add([]byte("Mozilla/5.0 (X11; CrOS x86_64 1) [FBAN/a;FBAV/1;] http://a:b;()//"))
	f.Add([]byte("Current RSS Reader Spider spider.com AdsBot-Google"))
	a := NewAgents(0)
	f.Cleanup(a.Close)
	f.Fuzz(func(t *testing.T, agent []byte) {
		got := *a.Of(agent)
		if len(got.BrowserVersion) > maxVersion || len(got.OSVersion) > maxVersion || (got.Bot == "") != (got.BotKind == "") {
			t.Errorf("%q gives %+v", agent, got)
		}
		if diff := cmp.Diff(got, *a.Of(agent)); diff != "" {
			t.Errorf("the second time (-first +second):\n%s", diff)
		}
	})
}

func BenchmarkAgent(b *testing.B) {
	const chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 " +
		"Safari/537.36"
	hostile := strings.Repeat("aa;", MaxAgentLen/3)
	b.Run("seen before", func(b *testing.B) {
		a := NewAgents(1 << 20)
		defer a.Close()
		text := []byte(chrome)
		a.Of(text)
		a.known.Wait()
		b.ReportAllocs()
		for b.Loop() {
			a.Of(text)
		}
	})
	for name, agent := range map[string]string{
		"browser": chrome,
		"library": "okhttp/4.12.0",
		"bot":     "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
		"hostile": hostile,
	} {
		b.Run("new "+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				parseAgent(agent)
			}
		})
	}
	b.Run("bots only", func(b *testing.B) {
		bots := knownBots()
		b.ReportAllocs()
		for b.Loop() {
			bots.find(chrome)
		}
	})
}

// Agents are remembered under 64 bits of hash, so two may meet in one place.
func TestAgentsOfOneHashDoNotGetEachOthersResults(t *testing.T) {
	t.Parallel()
	a := NewAgents(0)
	defer a.Close()
	mine := []byte("curl/8.9.1")
	a.known.Set(maphash.Bytes(a.seed, mine), &knownAgent{text: "another", agent: Agent{Browser: "another"}}, 1)
	a.known.Wait()
	if got := a.Of(mine); got.Browser != "curl" {
		t.Errorf("got %+v", got)
	}
}
