package traffic

import (
	"strconv"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
)

// Way is a route of the ingestion host: its path.
type Way string

// The ways that the events of a visit take.
const (
	Pages  Way = "/batch"
	Custom Way = "/track"
	Vitals Way = "/vitals"
	Errors Way = "/errors"
)

// Way returns the route that a browser sends the event to.
func (e *Event) Way() Way {
	switch e.Topic {
	case record.TopicVitals:
		return Vitals
	case record.TopicErrors:
		return Errors
	}
	if string(e.Type) == record.TypeCustom {
		return Custom
	}
	return Pages
}

// pageTexts are the texts of POST /batch.
var pageTexts = [...]struct {
	name string
	text record.WebText
}{
	{"title", record.Title},
	{"referrer", record.Referrer},
	{"screen_resolution", record.Screen},
	{"viewport_size", record.Viewport},
	{"language", record.Language},
	{"timezone", record.Timezone},
	{"connection_type", record.Connection},
	{"utm_source", record.UTMSource},
	{"utm_medium", record.UTMMedium},
	{"utm_campaign", record.UTMCampaign},
	{"href", record.Href},
	{"text", record.LinkText},
}

// errorTexts are those of POST /errors.
var errorTexts = [...]struct {
	name string
	text record.WebText
}{{"message", record.Message}, {"filename", record.Filename}, {"stack", record.Stack}}

// numberOf is a number of a route: the beginning of its member, and which it is.
type numberOf struct {
	member string
	number record.WebNumber
}

// The numbers of the routes.
var (
	pageNumbers = []numberOf{
		{`,"time_on_page":`, record.TimeOnPage},
		{`,"scroll_depth":`, record.ScrollDepth},
		{`,"interaction_count":`, record.Interactions},
		{`,"page_count":`, record.PageCount},
		{`,"load_time":`, record.LoadTime},
		{`,"dom_ready_time":`, record.DOMReady},
		{`,"dom_interactive":`, record.DOMInteractive},
		{`,"ttfb":`, record.TTFB},
		{`,"rtt":`, record.RTT},
		{`,"downlink":`, record.Downlink},
	}
	vitalNumbers = []numberOf{{`,"metricValue":`, record.Value}}
	errorNumbers = []numberOf{{`,"lineno":`, record.Line}, {`,"colno":`, record.Column}}
)

// AppendJSON appends the event as it is sent on its way. Late moves its time, in
// milliseconds, into the past.
func (e *Event) AppendJSON(dst []byte, late int64) []byte {
	w := &e.web
	var numbers []numberOf
	dst = strconv.AppendInt(append(dst, `{"timestamp":`...), e.TimeMillis-late, 10)
	dst = member(dst, "eventId", e.ID)
	dst = member(dst, "path", e.Address)
	dst = member(dst, "anonymousId", e.AnonymousID)
	dst = member(dst, "sessionId", e.SessionID)
	switch e.Way() {
	case Pages:
		numbers = pageNumbers
		if string(e.Type) == record.TypeOutgoingLink {
			dst = member(dst, "type", e.Type)
		} else {
			dst = member(dst, "name", e.Name)
		}
		dst = member(dst, "profileId", e.ProfileID)
		for _, t := range pageTexts {
			dst = member(dst, t.name, w.Texts[t.text])
		}
		dst = member(dst, string(w.Texts[record.ClickKind]), w.Texts[record.ClickID])
	case Custom:
		dst = member(dst, "name", e.Name)
		dst = member(dst, "profileId", e.ProfileID)
		dst = append(append(dst, `,"properties":`...), e.Properties...)
	case Vitals:
		numbers = vitalNumbers
		dst = member(dst, "metricName", e.Name)
	case Errors:
		numbers = errorNumbers
		dst = member(dst, "errorType", e.Name)
		for _, t := range errorTexts {
			dst = member(dst, t.name, w.Texts[t.text])
		}
	}
	for _, n := range numbers {
		if v, ok := w.Get(n.number); ok {
			dst = strconv.AppendFloat(append(dst, n.member...), v, 'f', -1, 64)
		}
	}
	return append(dst, '}')
}

// member appends a text that is there.
func member(dst []byte, name string, text []byte) []byte {
	if len(text) == 0 {
		return dst
	}
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return event.AppendQuoted(dst, text)
}
