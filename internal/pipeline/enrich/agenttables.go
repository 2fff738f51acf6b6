package enrich

import (
	"strings"

	"github.com/mileusna/useragent"
)

// nameRow is what an agent is called in which a text stands.
type nameRow struct{ text, name string }

// find returns the first row whose text stands in the agent, or nil.
func find(rows []nameRow, agent string) *nameRow {
	for i := range rows {
		if strings.Contains(agent, rows[i].text) {
			return &rows[i]
		}
	}
	return nil
}

// clients are the libraries and programs with which servers, apps and people at
// a terminal send events.
var clients = []nameRow{
	{"curl/", "curl"},
	{"Wget/", "Wget"},
	{"HTTPie/", "HTTPie"},
	{"PostmanRuntime/", "Postman"},
	{"insomnia/", "Insomnia"},
	{"okhttp/", "okhttp"},
	{"Dalvik/", "Dalvik"},
	{"CFNetwork/", "CFNetwork"},
	{"Alamofire/", "Alamofire"},
	{"Dart/", "Dart"},
	{"axios/", "axios"},
	{"node-fetch", "node-fetch"},
	{"undici", "undici"},
	{"got (https://github.com/sindresorhus/got", "got"},
	{"node-superagent/", "superagent"},
	{"Deno/", "Deno"},
	{"Bun/", "Bun"},
	{"python-requests/", "python-requests"},
	{"python-httpx/", "python-httpx"},
	{"Python-urllib/", "Python-urllib"},
	{"python-urllib3/", "python-urllib3"},
	{"aiohttp/", "aiohttp"},
	{"Scrapy/", "Scrapy"},
	{"Go-http-client/", "Go-http-client"},
	{"go-resty/", "go-resty"},
	{"fasthttp", "fasthttp"},
	{"Apache-HttpClient/", "Apache-HttpClient"},
	{"AHC/", "AsyncHttpClient"},
	{"Java-http-client/", "Java-http-client"},
	{"Java/", "Java"},
	{"ReactorNetty/", "ReactorNetty"},
	{"Jetty/", "Jetty"},
	{"Ktor client", "Ktor"},
	{"GuzzleHttp/", "Guzzle"},
	{"Symfony HttpClient", "Symfony HttpClient"},
	{"PHP-Curl-Class/", "PHP-Curl-Class"},
	{"Faraday v", "Faraday"},
	{"rest-client/", "rest-client"},
	{"http.rb/", "http.rb"},
	{"libwww-perl/", "libwww-perl"},
	{"reqwest/", "reqwest"},
	{"hyper/", "hyper"},
	{"ureq/", "ureq"},
	{"RestSharp/", "RestSharp"},
	{"WinHttp", "WinHTTP"},
	{"PowerShell/", "PowerShell"},
	{"Elixir", "Elixir"},
	{"hackney/", "hackney"},
	{"k6/", "k6"},
}

// browsers are browsers and apps with one, which call themselves Chrome or Safari
// besides. The order counts.
var browsers = []nameRow{
	{"HeadlessChrome/", "Headless Chrome"},
	{"PhantomJS/", "PhantomJS"},
	{"FBAV/", "Facebook App"},
	{"MetaIAB Facebook", "Facebook App"},
	{"Instagram ", "Instagram App"},
	{"Barcelona ", "Threads App"},
	{"Snapchat/", "Snapchat App"},
	{"Pinterest/", "Pinterest App"},
	{"LinkedInApp", "LinkedIn App"},
	{"TwitterAndroid", "X App"},
	{"Twitter for iPhone", "X App"},
	{"BytedanceWebview/", "TikTok App"},
	{"musical_ly", "TikTok App"},
	{"MicroMessenger/", "WeChat"},
	{"KAKAOTALK", "KakaoTalk"},
	{"NAVER(", "NAVER App"},
	{" Line/", "LINE"},
	{"GSA/", "Google App"},
	{"Slack/", "Slack"},
	{"Teams/", "Microsoft Teams"},
	{"Electron/", "Electron"},
	{"YaBrowser/", "Yandex Browser"},
	{"Whale/", "Whale"},
	{"UCBrowser/", "UC Browser"},
	{"MQQBrowser/", "QQ Browser"},
	{"QQBrowser/", "QQ Browser"},
	{"coc_coc_browser/", "Coc Coc"},
	{"Brave/", "Brave"},
	{"DuckDuckGo/", "DuckDuckGo"},
	{"Ddg/", "DuckDuckGo"},
	{"EdgiOS/", "Edge"},
	{"EdgA/", "Edge"},
	{"Edg/", "Edge"},
	{"Edge/", "Edge"},
	{"OPR/", "Opera"},
	{"OPT/", "Opera"},
	{"OPiOS/", "Opera"},
	{"Opera Mini/", "Opera Mini"},
	{"Vivaldi/", "Vivaldi"},
	{"SamsungBrowser/", "Samsung Internet"},
	{"MiuiBrowser/", "Mi Browser"},
	{"HuaweiBrowser/", "Huawei Browser"},
	{"HeyTapBrowser/", "HeyTap Browser"},
	{"VivoBrowser/", "vivo Browser"},
	{"OculusBrowser/", "Meta Quest Browser"},
	{"Silk/", "Silk"},
	{"Puffin/", "Puffin"},
	{"Maxthon/", "Maxthon"},
	{"SogouMobileBrowser/", "Sogou"},
	{"Ecosia", "Ecosia"},
	{"Epiphany/", "GNOME Web"},
	{"Falkon/", "Falkon"},
	{"PaleMoon/", "Pale Moon"},
	{"Waterfox/", "Waterfox"},
	{"SeaMonkey/", "SeaMonkey"},
	{"Focus/", "Firefox Focus"},
	{"Klar/", "Firefox Focus"},
	{"FxiOS/", "Firefox"},
	{"CriOS/", "Chrome"},
	{"Chromium/", "Chromium"},
}

// parsedBrowsers are the names that the parser has for browsers of no row above.
var parsedBrowsers = map[string]string{
	useragent.Chrome: "Chrome", useragent.Firefox: "Firefox", useragent.Safari: "Safari", useragent.Edge: "Edge",
	useragent.Opera: "Opera", useragent.OperaTouch: "Opera", useragent.InternetExplorer: "Internet Explorer",
	"Android browser": "Android Browser", useragent.BlackBerry: "BlackBerry", useragent.NetFront: "NetFront",
	"Trident": "Internet Explorer",
}

// browserOf returns the browser and its version. What is in no table is the
// browser that it is built on.
func browserOf(text string, ua *useragent.UserAgent) (name, version string) {
	if row := find(browsers, text); row != nil {
		return row.name, versionAfter(text, row.text)
	}
	name, version = parsedBrowsers[ua.Name], shortVersion(ua.Version)
	switch {
	case name == "Internet Explorer" && strings.Contains(text, "rv:11"):
		return name, "11"
	case name != "":
		return name, version
	case strings.Contains(text, "Chrome/"):
		return "Chrome", versionAfter(text, "Chrome/")
	case strings.Contains(text, "AppleWebKit/") && ua.OS == useragent.IOS:
		return "Safari", "" // an app's view of it, which has no version of its own
	}
	return "", ""
}

// systems are systems that the parser does not know, or takes for another.
var systems = []nameRow{
	{"Windows Phone", "Windows Phone"},
	{"Tizen", "Tizen"},
	{"Web0S", "webOS"},
	{"webOS", "webOS"},
	{"KAIOS", "KaiOS"},
	{"PlayStation ", "PlayStation"},
	{"PlayStation", "PlayStation"},
	{"Xbox", "Xbox"},
	{"Nintendo", "Nintendo"},
	{"AppleTV", "tvOS"},
	{"Roku", "Roku OS"},
	{"OpenBSD", "OpenBSD"},
	{"NetBSD", "NetBSD"},
	{"HarmonyOS", "HarmonyOS"},
}

// parsedSystems are the names that the parser has for the others.
var parsedSystems = map[string]string{
	useragent.Windows: "Windows", useragent.Android: "Android", useragent.MacOS: "macOS", useragent.IOS: "iOS",
	useragent.Linux: "Linux", useragent.FreeBSD: "FreeBSD", useragent.ChromeOS: "ChromeOS",
	useragent.BlackBerry: "BlackBerry",
	useragent.Harmony:    "HarmonyOS",
}

// windowsVersions are the names of Windows by the number that browsers send.
var windowsVersions = map[string]string{
	"10.0": "10", "6.3": "8.1", "6.2": "8", "6.1": "7", "6.0": "Vista", "5.1": "XP", "5.2": "XP",
}

func systemOf(text string, ua *useragent.UserAgent) (name, version string) {
	if row := find(systems, text); row != nil {
		return row.name, versionAfter(text, row.text)
	}
	name = parsedSystems[ua.OS]
	switch name {
	case "":
		return "", ""
	case "Windows":
		return name, windowsVersions[ua.OSVersion]
	}
	return name, shortVersion(ua.OSVersion)
}

// clientSystems are the systems that agents of libraries and apps name.
var clientSystems = []nameRow{{"Android", "Android"}, {
	"iPhone", "iOS",
}, {"iOS", "iOS"}, {"Windows", "Windows"}, {"macOS", "macOS"}, {"Linux", "Linux"}, {"linux", "Linux"}}

// clientSystemOf returns the system that a library's agent names, if it does.
func clientSystemOf(text string) string {
	if row := find(clientSystems, text); row != nil {
		return row.name
	}
	return ""
}

// devices are what tells a device apart, in the order in which it counts.
var devices = []nameRow{
	{"SmartTV", TV},
	{"SMART-TV", TV},
	{"Smart-TV", TV},
	{"Web0S", TV},
	{"AppleTV", TV},
	{"Apple TV", TV},
	{"GoogleTV", TV},
	{"Google TV", TV},
	{"Android TV", TV},
	{"HbbTV", TV},
	{"BRAVIA", TV},
	{"CrKey", TV},
	{"Roku", TV},
	{"AFTT", TV},
	{"AFTS", TV},
	{"AFTM", TV},
	{"AFTK", TV},
	{"NetCast", TV},
	{"VIDAA", TV},
	{"PhilipsTV", TV},
	{"PlayStation", Console},
	{"Xbox", Console},
	{"Nintendo", Console},
	{"iPad", Tablet},
	{"Tablet", Tablet},
	{"tablet", Tablet},
	{"PlayBook", Tablet},
	{"Kindle", Tablet},
	{"Mobile", Mobile},
	{"iPhone", Mobile},
	{"iPod", Mobile},
	{"Windows Phone", Mobile},
	{"KAIOS", Mobile},
	{"BlackBerry", Mobile},
	{"Opera Mini", Mobile},
}

func deviceOf(text string, ua *useragent.UserAgent, system string) string {
	if row := find(devices, text); row != nil && (row.text != "Tablet" || !strings.Contains(text, "Tablet PC")) {
		return row.name
	}
	switch {
	case system == "Android": // phones say "Mobile"
		return Tablet
	case ua.Mobile:
		return Mobile
	case ua.Desktop, system == "OpenBSD", system == "NetBSD":
		return Desktop
	}
	return OtherDevice
}

// maxVersion is how long a version is at most, in bytes.
const maxVersion = 12

// shortVersion returns the first two numbers of a version, and the first alone
// when the second is zero: that is all that anything is counted by.
func shortVersion(text string) string {
	dots, end, number := 0, 0, 0 // number is where the last number begins
	for ; end < len(text) && end < maxVersion; end++ {
		if c := text[end]; c == '.' || c == '_' {
			if dots++; dots == 2 {
				break
			}
			number = end + 1
		} else if c < '0' || c > '9' {
			break
		}
	}
	if last := strings.Trim(text[number:end], "0"); dots > 0 && number > 0 && last == "" {
		end = number - 1
	}
	if end > 0 && (text[0] < '0' || text[0] > '9') {
		return ""
	}
	return strings.ReplaceAll(text[:end], "_", ".")
}

// versionAfter returns the version that stands behind a mark.
func versionAfter(text, mark string) string {
	_, after, _ := strings.Cut(text, mark)
	return shortVersion(strings.TrimLeft(after, "/ "))
}
