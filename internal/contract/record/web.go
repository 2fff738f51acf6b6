package record

// Web is what a browser tells besides, and what was found out from its address
// and user agent, which themselves are in no record. Texts are unescaped.
type Web struct {
	Texts   [NumWebTexts][]byte
	Numbers [NumWebNumbers]float64
	// Has has bit n set when Numbers[n] is there: a zero is a value.
	Has uint32
}

// WebText numbers the texts of Web.
type WebText uint8

// The texts, in the order in which they are written.
const (
	Host WebText = iota
	Title
	Referrer
	ReferrerHost
	ReferrerKind
	ReferrerName
	UTMSource
	UTMMedium
	UTMCampaign
	UTMTerm
	UTMContent
	ClickKind
	ClickID
	Browser
	BrowserVersion
	OS
	OSVersion
	Device
	Country
	Region
	City
	Bot
	BotKind
	Language
	Timezone
	Screen
	Viewport
	Connection
	Href
	LinkText
	Message
	Filename
	Stack
	OriginalName

	NumWebTexts = iota
)

// foundOut reports whether a text is not what the caller said, in whatever form, but
// comes from tables that change, depends on the way by which the request came, or on what
// came before.
func (t WebText) foundOut() bool {
	switch t {
	case ReferrerHost, ReferrerKind, ReferrerName,
		Browser, BrowserVersion, OS, OSVersion, Device, Country, Region, City, Bot, BotKind, OriginalName:
		return true
	default:
		return false
	}
}

// WebNumber numbers the numbers of Web.
type WebNumber uint8

// The numbers, in the order in which they are written.
const (
	Value WebNumber = iota
	Line
	Column
	TimeOnPage
	ScrollDepth
	Interactions
	PageCount
	LoadTime
	DOMReady
	DOMInteractive
	TTFB
	RenderTime
	RedirectTime
	LookupTime
	RTT
	Downlink

	NumWebNumbers = iota
)

// WebField describes one field to whoever reads a topic.
type WebField struct {
	Key  string // in the JSON
	Help string
	// Max bounds a text, in code points; 0 for a number.
	Max int
}

// WebTexts describes the texts.
var WebTexts = [NumWebTexts]WebField{
	Host:         {"host", "Host of the page in lower case, without www. and without the default port.", 253},
	Title:        {"title", "Title of the page.", 512},
	Referrer:     {"referrer", "Referrer URL of the page, without the query string.", 2048},
	ReferrerHost: {"referrerHost", "Host of the referrer, without www.", 253},
	ReferrerKind: {"referrerKind", "Type of the referrer: direct, internal, search, social, ai, email, video or " +
		"other.", 32},
	ReferrerName:   {"referrerName", "Name of the referrer, such as Google; otherwise its host.", 253},
	UTMSource:      {"utmSource", "Campaign parameter utm_source.", 512},
	UTMMedium:      {"utmMedium", "Campaign parameter utm_medium.", 512},
	UTMCampaign:    {"utmCampaign", "Campaign parameter utm_campaign.", 512},
	UTMTerm:        {"utmTerm", "Campaign parameter utm_term.", 512},
	UTMContent:     {"utmContent", "Campaign parameter utm_content.", 512},
	ClickKind:      {"clickKind", "Click id parameter of an advertiser, such as gclid.", 32},
	ClickID:        {"clickId", "Value of the click id parameter.", 512},
	Browser:        {"browser", "Browser.", 64},
	BrowserVersion: {"browserVersion", "Browser version.", 32},
	OS:             {"os", "Operating system.", 64},
	OSVersion:      {"osVersion", "Operating system version.", 32},
	Device:         {"device", "Device type: desktop, mobile, tablet, tv or other.", 32},
	Country:        {"country", "Country of the visitor, ISO 3166-1 alpha-2.", 2},
	Region:         {"region", "Region within the country.", 128},
	City:           {"city", "City.", 128},
	Bot:            {"bot", "Name of the bot, if the client identifies itself as one.", 64},
	BotKind:        {"botKind", "Purpose of the bot, such as crawler.", 32},
	Language:       {"language", "Browser language, such as de-AT.", 64},
	Timezone:       {"timezone", "Browser time zone, an IANA name.", 64},
	Screen:         {"screen", "Screen size, such as 1920x1080.", 16},
	Viewport:       {"viewport", "Viewport size.", 16},
	Connection:     {"connection", "Connection type, such as 4g.", 32},
	Href:           {"href", "URL of the clicked link.", 2048},
	LinkText:       {"linkText", "Text of the clicked link.", 2048},
	Message:        {"message", "Error message.", 8192},
	Filename:       {"filename", "URL of the script that raised the error.", 2048},
	Stack:          {"stack", "Stack trace of the error.", 32768},
	OriginalName: {
		"originalName", "Event name as sent, if the website exceeded its limit of names that day and the name is " +
			"(other).", 256,
	},
}

// WebNumbers describes the numbers.
var WebNumbers = [NumWebNumbers]WebField{
	Value:          {"value", "Value of the metric, or number of events.", 0},
	Line:           {"line", "Line of the error in the script.", 0},
	Column:         {"column", "Column of the error in the script.", 0},
	TimeOnPage:     {"timeOnPage", "Seconds for which the page was open.", 0},
	ScrollDepth:    {"scrollDepth", "Scroll depth of the page, in percent.", 0},
	Interactions:   {"interactions", "Number of clicks, key presses and touches on the page.", 0},
	PageCount:      {"pageCount", "Number of pages in the session so far.", 0},
	LoadTime:       {"loadTime", "Milliseconds until the page was loaded.", 0},
	DOMReady:       {"domReady", "Milliseconds until the DOM was ready.", 0},
	DOMInteractive: {"domInteractive", "Milliseconds until the DOM was interactive.", 0},
	TTFB:           {"ttfb", "Milliseconds until the first byte.", 0},
	RenderTime:     {"renderTime", "Milliseconds of rendering.", 0},
	RedirectTime:   {"redirectTime", "Milliseconds of redirects.", 0},
	LookupTime:     {"lookupTime", "Milliseconds of the DNS lookup.", 0},
	RTT:            {"rtt", "Round-trip time in milliseconds, as estimated by the browser.", 0},
	Downlink:       {"downlink", "Bandwidth in Mbit/s, as estimated by the browser.", 0},
}

// Get returns a number; ok is false when it is not there.
func (w *Web) Get(n WebNumber) (v float64, ok bool) { return w.Numbers[n], w.Has&(1<<n) != 0 }

// Set notes a number. One that is not finite is none.
func (w *Web) Set(n WebNumber, v float64) {
	if v-v != 0 {
		return
	}
	w.Numbers[n] = v
	w.Has |= 1 << n
}
