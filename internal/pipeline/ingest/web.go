package ingest

import (
	"slices"
	"unsafe"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/tenant/website"
)

// told says where a record keeps what a tracker told.
var told = [...]struct {
	from event.PageText
	to   record.WebText
}{
	{event.Title, record.Title},
	{event.UTMSource, record.UTMSource},
	{event.UTMMedium, record.UTMMedium},
	{event.UTMCampaign, record.UTMCampaign},
	{event.UTMTerm, record.UTMTerm},
	{event.UTMContent, record.UTMContent},
	{event.Language, record.Language},
	{event.Timezone, record.Timezone},
	{event.Screen, record.Screen},
	{event.Viewport, record.Viewport},
	{event.Connection, record.Connection},
	{event.Href, record.Href},
	{event.LinkText, record.LinkText},
	{event.Message, record.Message},
	{event.Filename, record.Filename},
	{event.Stack, record.Stack},
}

// counted says the same of numbers.
var counted = [...]struct {
	from event.PageNumber
	to   record.WebNumber
}{
	{event.Value, record.Value},
	{event.Line, record.Line},
	{event.Column, record.Column},
	{event.TimeOnPage, record.TimeOnPage},
	{event.ScrollDepth, record.ScrollDepth},
	{event.Interactions, record.Interactions},
	{event.PageCount, record.PageCount},
	{event.LoadTime, record.LoadTime},
	{event.DOMReady, record.DOMReady},
	{event.DOMInteractive, record.DOMInteractive},
	{event.TTFB, record.TTFB},
	{event.RenderTime, record.RenderTime},
	{event.RedirectTime, record.RedirectTime},
	{event.LookupTime, record.LookupTime},
	{event.RTT, record.RTT},
	{event.Downlink, record.Downlink},
}

// clicks are the fields by which advertisers know a click, in the order in which the
// first one counts.
var clicks = [...]struct {
	from event.PageText
	kind string
}{
	{event.GCLID, "gclid"},
	{event.FBCLID, "fbclid"},
	{event.MSCLKID, "msclkid"},
	{event.TTCLID, "ttclid"},
	{event.TWCLID, "twclid"},
	{event.LIFatID, "li_fat_id"},
}

// web finds out what is to be stored with an event and puts its path into the form in
// which it is stored. What it returns is nil for nothing, and valid until the next
// call. Wanted is false where the website does not count the event's page.
func (r *run) web(e *event.Event, site *website.Website) (w *record.Web, wanted bool) {
	page := r.req.Route.Form.OfPages()
	located := r.locate(e, site, page)
	if located && r.page.Excluded {
		return nil, false
	}
	if !r.client() && e.Page == nil && !located {
		return nil, true
	}
	w = &r.found
	*w = record.Web{}
	if located {
		w.Texts[record.Host] = r.page.Host
		setCampaign(w, &r.page.Campaign)
	}
	if page && r.deps.Enrich != nil {
		setSource(w, &r.page.Referrer)
	}
	if e.Page != nil {
		setPage(w, e.Page)
		r.setScripts(w, site)
	}
	if r.visitor.Agent != nil {
		setVisitor(w, &r.visitor)
	}
	return w, true
}

// locate reads an event's address. A key's events of POST /track keep the path that
// they name, which need not be a page's, unless the website has rules about paths.
func (r *run) locate(e *event.Event, site *website.Website, page bool) bool {
	if r.deps.Enrich == nil || len(e.Path) == 0 && !page {
		return false
	}
	if !r.client() && r.req.Route.Form == event.Track && (site == nil || r.deps.Enrich.Rules(site) == nil) {
		return false
	}
	var referrer []byte
	if e.Page != nil {
		referrer = e.Page.Texts[event.Referrer]
	}
	r.deps.Enrich.Page(&r.page, e.Path, referrer, site)
	// The normal form of a path may hold what JSON wants escaped.
	e.Path, e.Plain = r.page.Path, false
	return true
}

// setPage puts in what a tracker told. What it says of a campaign it knows from the
// first page of the visit, so it counts before what the address says.
func setPage(w *record.Web, p *event.Page) {
	for _, t := range told {
		if v := p.Texts[t.from]; len(v) > 0 {
			w.Texts[t.to] = v
		}
	}
	for _, n := range counted {
		if v, ok := p.Number(n.from); ok {
			w.Set(n.to, v)
		}
	}
	for _, c := range clicks {
		if v := p.Texts[c.from]; len(v) > 0 {
			w.Texts[record.ClickKind], w.Texts[record.ClickID] = bytesOf(c.kind), v
			return
		}
	}
}

// scripted are the texts of an error besides its file in which addresses stand.
var scripted = [...]record.WebText{record.Message, record.Stack}

// setScripts takes out of the texts of an error what must not be stored: a script
// within a page is named by the page's own address, and a request that failed by its own.
func (r *run) setScripts(w *record.Web, site *website.Website) {
	filename := w.Texts[record.Filename]
	if r.deps.Enrich == nil || len(filename)+len(w.Texts[record.Message])+len(w.Texts[record.Stack]) == 0 {
		return
	}
	rules := r.deps.Enrich.Rules(site)
	buf := rules.AppendScript(r.scripts[:0], filename)
	w.Texts[record.Filename] = slices.Clip(buf)
	for _, text := range scripted {
		from := len(buf)
		buf = rules.AppendTrace(buf, w.Texts[text])
		w.Texts[text] = slices.Clip(buf[from:])
	}
	r.scripts = buf
}

func setCampaign(w *record.Web, c *enrich.Campaign) {
	w.Texts[record.UTMSource], w.Texts[record.UTMMedium] = c.Source, c.Medium
	w.Texts[record.UTMCampaign], w.Texts[record.UTMTerm], w.Texts[record.UTMContent] = c.Name, c.Term, c.Content
	w.Texts[record.ClickKind], w.Texts[record.ClickID] = bytesOf(c.ClickKind), c.ClickID
}

func setSource(w *record.Web, s *enrich.Source) {
	w.Texts[record.Referrer], w.Texts[record.ReferrerHost] = s.URL, s.Host
	w.Texts[record.ReferrerKind] = bytesOf(string(s.Kind))
	w.Texts[record.ReferrerName] = bytesOf(s.Name)
	if s.Name == "" {
		w.Texts[record.ReferrerName] = s.Host
	}
}

func setVisitor(w *record.Web, v *enrich.Visitor) {
	a := v.Agent
	w.Texts[record.Browser], w.Texts[record.BrowserVersion] = bytesOf(a.Browser), bytesOf(a.BrowserVersion)
	w.Texts[record.OS], w.Texts[record.OSVersion] = bytesOf(a.OS), bytesOf(a.OSVersion)
	w.Texts[record.Device] = bytesOf(a.Device)
	w.Texts[record.Bot], w.Texts[record.BotKind] = bytesOf(a.Bot), bytesOf(a.BotKind)
	w.Texts[record.Country] = bytesOf(v.Place.Country)
	w.Texts[record.Region], w.Texts[record.City] = bytesOf(v.Place.Region), bytesOf(v.Place.City)
}

// bytesOf returns the bytes of a text without copying it, for a reader.
func bytesOf(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s)) //nolint:gosec // see above
}
