package event

import (
	"math"
	"slices"
)

// maxWhole is the largest number up to which a float64 holds every integer.
const maxWhole = 1<<53 - 1

// Limits of what browsers send.
const (
	MaxUTMLen      = 512
	MaxClickIDLen  = 512
	MaxHrefLen     = 2048
	MaxTitleLen    = 512
	MaxLinkTextLen = 2048
	MaxWordLen     = 64 // of a language, a time zone, a type
	MaxMessageLen  = 8192
	MaxFilenameLen = 2048
	MaxStackLen    = 32768
	MaxTargetLen   = 64 // of an element's name in POST /engagement
	MinSide        = 1  // pixels of a screen or window
	MaxSide        = 99999
	MaxPercent     = 100
)

// Metrics are the names of web vitals (specification 2.3).
var Metrics = []string{"FCP", "LCP", "CLS", "INP", "TTFB", "FPS"}

// The rows that forms have in common.
var (
	eventIDField     = Field{Name: "eventId", Type: Text, Max: MaxEventIDLen, Note: "an empty value counts as absent"}
	pathField        = Field{Name: "path", Type: Text, Max: MaxPathLen, Note: "an empty value counts as absent"}
	anonymousIDField = Field{Name: "anonymousId", Type: Text, Max: MaxAnonymousIDLen, Note: "an empty value counts as " +
		"absent"}
	profileIDField = Field{Name: "profileId", Type: Text, Min: 1, Max: MaxProfileIDLen}
	sessionIDField = Field{Name: "sessionId", Type: Text, Max: MaxSessionIDLen, Note: "an empty value counts as absent"}
	websiteIDField = Field{Name: "websiteId", Type: Text, Max: MaxWebsiteIDLen, Note: "an empty value counts as absent"}
	anonymizeField = Field{
		Name: "anonymizeVisitorIds", Type: Choice, Note: "true, false or \"auto\"; the website's setting if absent",
	}
	propertiesField = Field{Name: "properties", Type: Object}
	timeField       = Field{
		Name: "timestamp", Type: Time, Min: MinTimeMillis, Max: MaxTimeMillis,
		Note: "a time more than an hour after receipt is replaced by the time of receipt",
	}
	millisField = Field{
		Name: "timestamp", Type: Millis, Required: true, Min: MinTimeMillis, Max: MaxTimeMillis,
		Note: "required; a time more than an hour after receipt is replaced by the time of receipt",
	}
	pageField = Field{Name: "path", Type: Text, Required: true, Min: 1, Max: MaxPathLen, Note: "required"}
)

// Track is the form of POST /track (specification 2.2).
var Track = newForm("track", nil,
	Field{Name: "name", Type: Text, Required: true, Min: 1, Max: MaxNameLen, Note: "required"},
	propertiesField, eventIDField, pathField, anonymousIDField, profileIDField, sessionIDField, timeField,
	Field{Name: "namespace", Type: Text, Max: MaxNamespaceLen, Note: "an empty value counts as absent"},
	Field{Name: "source", Type: Text, Max: MaxSourceLen, Note: "an empty value counts as absent"},
	websiteIDField, anonymizeField,
)

// Pixels is Pages for GET /px.jpg: an image in a mail has no eventId, since it is the
// same for whoever opens it.
var Pixels = newForm("pixel", (*Decoder).settlePage, optional(Pages.Fields, "eventId")...)

// OfPages reports whether the items of a form are page events.
func (f *Form) OfPages() bool { return f == Pages || f == Pixels }

// optional returns rows of which one need not be there.
func optional(fields []Field, name string) []Field {
	fields = slices.Clone(fields)
	for i := range fields {
		if fields[i].Name == name {
			fields[i].Required, fields[i].Min, fields[i].Note = false, 0, eventIDField.Note
		}
	}
	return fields
}

func pageText(name string, t PageText, most int64) Field {
	return Field{Name: name, Type: Text, Max: most, to: toText(t)}
}

func pageNumber(name string, typ Type, n PageNumber, most int64) Field {
	return Field{Name: name, Type: typ, Max: most, to: toNumber(n)}
}

// placeNumber is where in a script an error occurred, as far as its browser knows.
func placeNumber(name string, n PageNumber) Field {
	return Field{
		Name: name, Type: Number, Min: math.MinInt64, Max: maxWhole, Note: "a value below 0 is stored as 0", to: toNumber(n),
	}
}

// Pages is the form of POST / and POST /batch.
var Pages = newForm("page", (*Decoder).settlePage,
	Field{
		Name: "type", Type: Text, Max: MaxWordLen, Cut: true, Words: []string{"track", "outgoing_link"},
		Note: "track if absent", to: toText(EventType),
	},
	Field{
		Name: "name", Type: Text, Min: 1, Max: MaxNameLen,
		Note: "required unless type is outgoing_link; screen_view, page_exit and outgoing_link (or link_out) have a " +
			"special meaning",
	},
	Field{Name: "eventId", Type: Text, Required: true, Min: 1, Max: MaxEventIDLen, Note: "required"},
	Field{
		Name: "path", Type: Address, Max: MaxPathLen,
		Note: "an absolute http or https URL; an empty value counts as absent",
	},
	timeField, anonymousIDField, profileIDField, sessionIDField, anonymizeField, websiteIDField, propertiesField,
	Field{Name: "title", Type: Text, Max: MaxTitleLen, Cut: true, to: toText(Title)},
	Field{
		Name: "referrer", Type: Referral, Max: MaxPathLen, Note: "an absolute URL or direct; an empty value counts as absent",
		to: toText(Referrer),
	},
	Field{
		Name: "screen_resolution", Type: Size, Min: MinSide, Max: MaxSide,
		Note: "such as 1920x1080; the limits apply to each side", to: toText(Screen),
	},
	Field{
		Name: "viewport_size", Type: Size, Min: MinSide, Max: MaxSide, Note: "such as 1200x800; the limits apply to each " +
			"side",
		to: toText(Viewport),
	},
	pageText("language", Language, MaxWordLen),
	pageText("timezone", Timezone, MaxWordLen),
	pageText("connection_type", Connection, 32),
	pageNumber("rtt", Number, RTT, maxWhole),
	pageNumber("downlink", Number, Downlink, maxWhole),
	pageNumber("time_on_page", Number, TimeOnPage, maxWhole),
	pageNumber("scroll_depth", Number, ScrollDepth, MaxPercent),
	pageNumber("interaction_count", Integer, Interactions, maxWhole),
	pageNumber("page_count", Integer, PageCount, maxWhole),
	pageText("utm_source", UTMSource, MaxUTMLen),
	pageText("utm_medium", UTMMedium, MaxUTMLen),
	pageText("utm_campaign", UTMCampaign, MaxUTMLen),
	pageText("utm_term", UTMTerm, MaxUTMLen),
	pageText("utm_content", UTMContent, MaxUTMLen),
	pageText("gclid", GCLID, MaxClickIDLen),
	pageText("fbclid", FBCLID, MaxClickIDLen),
	pageText("ttclid", TTCLID, MaxClickIDLen),
	pageText("twclid", TWCLID, MaxClickIDLen),
	pageText("li_fat_id", LIFatID, MaxClickIDLen),
	pageText("msclkid", MSCLKID, MaxClickIDLen),
	pageNumber("load_time", Number, LoadTime, maxWhole),
	pageNumber("dom_ready_time", Number, DOMReady, maxWhole),
	pageNumber("dom_interactive", Number, DOMInteractive, maxWhole),
	pageNumber("ttfb", Number, TTFB, maxWhole),
	pageNumber("render_time", Number, RenderTime, maxWhole),
	pageNumber("redirect_time", Number, RedirectTime, maxWhole),
	pageNumber("domain_lookup_time", Number, LookupTime, maxWhole),
	pageText("href", Href, MaxHrefLen),
	Field{Name: "text", Type: Text, Max: MaxLinkTextLen, Cut: true, to: toText(LinkText)},
	Field{Name: "value", Type: Number, Min: math.MinInt64, to: toNumber(Value)},
)

// Vitals is the form of POST /vitals (specification 2.3).
var Vitals = newForm("vital", (*Decoder).settleVital,
	millisField, pageField,
	Field{
		Name: "metricName", Type: Word, Required: true, Min: 1, Max: MaxWordLen, Words: Metrics,
		Note: "required; one of the metric names", to: place{in: inName},
	},
	Field{Name: "metricValue", Type: Number, Required: true, Min: math.MinInt64, Note: "required", to: toNumber(Value)},
	anonymousIDField, sessionIDField, eventIDField, anonymizeField, websiteIDField,
)

// Errors is the form of POST /errors (specification 2.4).
var Errors = newForm("error", (*Decoder).settleError,
	millisField, pageField,
	Field{
		Name: "message", Type: Text, Required: true, Min: 1, Max: MaxMessageLen, Cut: true, Note: "required",
		to: toText(Message),
	},
	Field{Name: "filename", Type: Text, Max: MaxFilenameLen, Cut: true, to: toText(Filename)},
	placeNumber("lineno", Line),
	placeNumber("colno", Column),
	Field{Name: "stack", Type: Text, Max: MaxStackLen, Cut: true, to: toText(Stack)},
	Field{Name: "errorType", Type: Text, Max: MaxNameLen, Cut: true, Note: "Error if absent", to: place{in: inName}},
	anonymousIDField, sessionIDField, eventIDField, anonymizeField, websiteIDField,
)

// Engagements is the form of POST /engagement.
var Engagements = newForm("engagement", (*Decoder).settleEngagement, append([]Field{
	millisField, pageField,
	anonymousIDField, sessionIDField, eventIDField, anonymizeField, websiteIDField,
}, engagementFields...)...)

// engagementFields are kept in the event's properties, in this order.
var engagementFields = []Field{
	pageNumber("pageIndex", Integer, pageIndex, maxWhole),
	{
		Name: "exitType", Type: Word, Max: MaxWordLen, Words: []string{"navigation", "spa", "hidden", "unload"},
		to: toText(exitType),
	},
	pageNumber("timeOnPage", Number, timeOnPage, maxWhole),
	pageNumber("activeTime", Number, activeTime, maxWhole),
	pageNumber("timeToFirstInteraction", Number, firstInteraction, maxWhole),
	pageNumber("maxScrollDepth", Number, maxScrollDepth, MaxPercent),
	pageNumber("scrollCount", Integer, scrollCount, maxWhole),
	pageNumber("clickCount", Integer, clickCount, maxWhole),
	pageNumber("keyCount", Integer, keyCount, maxWhole),
	pageNumber("interactionCount", Integer, interactionCount, maxWhole),
	pageNumber("copyCount", Integer, copyCount, maxWhole),
	pageNumber("rageClickCount", Integer, rageClickCount, maxWhole),
	pageNumber("deadClickCount", Integer, deadClickCount, maxWhole),
	pageText("rageClickTarget", rageClickTarget, MaxTargetLen),
	pageText("deadClickTarget", deadClickTarget, MaxTargetLen),
	pageNumber("formFieldCount", Integer, formFieldCount, maxWhole),
	pageNumber("formSubmitCount", Integer, formSubmitCount, maxWhole),
	pageText("lastFormField", lastFormField, MaxTargetLen),
	pageNumber("errorCount", Integer, errorCount, maxWhole),
}

// Identities is the form of POST /identify.
var Identities = newForm("identity", (*Decoder).settleIdentity,
	Field{Name: "profileId", Type: Text, Required: true, Min: 1, Max: MaxProfileIDLen, Note: "required"},
	eventIDField, timeField, anonymousIDField,
	Field{Name: "traits", Type: Traits, Note: "strings, numbers, booleans, or null, which deletes the trait"},
	websiteIDField, anonymizeField,
)

// Forms lists the forms.
var Forms = []*Form{Track, Pages, Pixels, Vitals, Errors, Engagements, Identities}
