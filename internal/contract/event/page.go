package event

// Page is what trackers tell besides: where a visitor is, what a page measured, what
// failed in it. Its texts belong to the Decoder like an Event's.
type Page struct {
	Texts   [NumPageTexts][]byte
	Numbers [NumPageNumbers]float64
	// Has has bit n set when Numbers[n] is there: a zero is a value.
	Has uint64
}

// PageText numbers the texts of a Page.
type PageText uint8

// The texts. The last ones are only of POST /engagement, which keeps them in the
// event's properties.
const (
	EventType PageText = iota // as it was sent; nil for none
	Title
	Referrer
	Screen
	Viewport
	Language
	Timezone
	Connection
	UTMSource
	UTMMedium
	UTMCampaign
	UTMTerm
	UTMContent
	GCLID
	FBCLID
	TTCLID
	TWCLID
	LIFatID
	MSCLKID
	Href
	LinkText
	Message
	Filename
	Stack

	exitType
	rageClickTarget
	deadClickTarget
	lastFormField

	NumPageTexts = iota
)

// PageNumber numbers the numbers of a Page.
type PageNumber uint8

// The numbers. The last ones are only of POST /engagement, which keeps them in the
// event's properties.
const (
	Value PageNumber = iota
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

	pageIndex
	timeOnPage
	activeTime
	firstInteraction
	maxScrollDepth
	scrollCount
	clickCount
	keyCount
	interactionCount
	copyCount
	rageClickCount
	deadClickCount
	formFieldCount
	formSubmitCount
	errorCount

	NumPageNumbers = iota
)

// Number returns a number, if it is there.
func (p *Page) Number(n PageNumber) (v float64, ok bool) {
	return p.Numbers[n], p.Has&(1<<n) != 0
}

func (p *Page) set(n PageNumber, v float64) {
	p.Numbers[n] = v
	p.Has |= 1 << n
}

// keptPages bounds what one hostile body leaves behind in a pooled Decoder.
const keptPages = 1 << 8

// page returns the page of e, which is made with the first value for it.
func (d *Decoder) page(e *Event) *Page {
	if e.Page == nil {
		if d.pagesUsed == len(d.pages) {
			d.pages = append(d.pages, new(Page))
		}
		e.Page = d.pages[d.pagesUsed]
		*e.Page = Page{}
		d.pagesUsed++
	}
	return e.Page
}
