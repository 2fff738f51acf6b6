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
	Host:           {"host", "Host of the page, in lower case, without www. and without the usual port.", 253},
	Title:          {"title", "Title of the page.", 512},
	Referrer:       {"referrer", "Address that led to the page, without query.", 2048},
	ReferrerHost:   {"referrerHost", "Its host, without www.", 253},
	ReferrerKind:   {"referrerKind", "What it is: direct, internal, search, social, ai, email, video or other.", 32},
	ReferrerName:   {"referrerName", "What it is called, such as Google; else its host.", 253},
	UTMSource:      {"utmSource", "Campaign parameter utm_source.", 512},
	UTMMedium:      {"utmMedium", "Campaign parameter utm_medium.", 512},
	UTMCampaign:    {"utmCampaign", "Campaign parameter utm_campaign.", 512},
	UTMTerm:        {"utmTerm", "Campaign parameter utm_term.", 512},
	UTMContent:     {"utmContent", "Campaign parameter utm_content.", 512},
	ClickKind:      {"clickKind", "Parameter by which an advertiser marks a click, such as gclid.", 32},
	ClickID:        {"clickId", "Its value.", 512},
	Browser:        {"browser", "Browser.", 64},
	BrowserVersion: {"browserVersion", "Its version.", 32},
	OS:             {"os", "Operating system.", 64},
	OSVersion:      {"osVersion", "Its version.", 32},
	Device:         {"device", "Kind of device: desktop, mobile, tablet, tv or other.", 32},
	Country:        {"country", "Country of the visitor, ISO 3166-1 alpha-2.", 2},
	Region:         {"region", "Region within the country.", 128},
	City:           {"city", "City.", 128},
	Bot:            {"bot", "Name of the program, where it is one that says so.", 64},
	BotKind:        {"botKind", "What the program is for, such as crawler.", 32},
	Language:       {"language", "Language of the browser, such as de-AT.", 64},
	Timezone:       {"timezone", "Time zone of the browser, an IANA name.", 64},
	Screen:         {"screen", "Size of the screen, such as 1920x1080.", 16},
	Viewport:       {"viewport", "Size of the window's inside.", 16},
	Connection:     {"connection", "Kind of connection, such as 4g.", 32},
	Href:           {"href", "Address of the link that was followed.", 2048},
	LinkText:       {"linkText", "Text of the link.", 2048},
	Message:        {"message", "Message of the error.", 8192},
	Filename:       {"filename", "Address of the script in which it occurred.", 2048},
	Stack:          {"stack", "Its stack.", 32768},
	OriginalName: {
		"originalName", "Name as sent, where the website had too many names that day and the name is (other).", 256,
	},
}

// WebNumbers describes the numbers.
var WebNumbers = [NumWebNumbers]WebField{
	Value:          {"value", "Value of the metric, or count of events.", 0},
	Line:           {"line", "Line of the error in its file.", 0},
	Column:         {"column", "Column of the error in its line.", 0},
	TimeOnPage:     {"timeOnPage", "Seconds that the page was open.", 0},
	ScrollDepth:    {"scrollDepth", "How far the page was scrolled, in percent.", 0},
	Interactions:   {"interactions", "Clicks, keys and touches on the page.", 0},
	PageCount:      {"pageCount", "Pages of the session so far.", 0},
	LoadTime:       {"loadTime", "Milliseconds until the page was loaded.", 0},
	DOMReady:       {"domReady", "Milliseconds until its DOM was ready.", 0},
	DOMInteractive: {"domInteractive", "Milliseconds until its DOM was interactive.", 0},
	TTFB:           {"ttfb", "Milliseconds until its first byte.", 0},
	RenderTime:     {"renderTime", "Milliseconds of rendering.", 0},
	RedirectTime:   {"redirectTime", "Milliseconds of redirects.", 0},
	LookupTime:     {"lookupTime", "Milliseconds of the lookup of its name.", 0},
	RTT:            {"rtt", "Round trip in milliseconds as the browser estimates it.", 0},
	Downlink:       {"downlink", "Bandwidth in Mbit/s as the browser estimates it.", 0},
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
