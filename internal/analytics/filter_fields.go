package analytics

import (
	"fmt"
	"slices"
	"strings"
)

// FieldKind is how a field is compared.
type FieldKind uint8

// The kinds of fields.
const (
	TextField   FieldKind = iota // an exact text; empty where none was sent
	NumberField                  // a number, or nothing
	KeysField                    // a set of texts
	// ValueField is whatever JSON a caller put under a key: it is compared as a text
	// with texts, and as a number with numbers.
	ValueField
	FlagField // true or false
)

// Field is something events can be filtered by.
type Field struct {
	Name    string
	Aliases []string
	Doc     string
	Kind    FieldKind
	// Tables have it; nil stands for all that hold what visitors do.
	Tables []string
	// Personal fields tell who a user is. Nobody may filter or group by them who may ask
	// no more than what is public.
	Personal bool
	// expr is its SQL over a row of the table, owned by us. That of a KeysField is
	// the predicate of one {value} being there; that of a ValueField its text, with
	// {key} for the key; that of a FlagField the number 1 or 0.
	expr string
	// set is the predicate of a ValueField being there.
	set string
	// within is the predicate that holds for an event when {match} holds for one of
	// the rows that belong to it elsewhere; empty where expr is about the event.
	within func(SubjectKind) string
	// reads are the tables of within.
	reads []string
	// single tells that expr is a Float32, which is equal to none but the numbers that it
	// can hold: values are rounded to these, as what was sent was.
	single bool
}

// The tables of events of several kinds.
const (
	tableEvents    = "events"
	tableVitals    = "vitals"
	tableErrors    = "errors"
	tableClicks    = "clicks"
	tableExposures = "flag_exposures"
)

var (
	inEvents    = []string{tableEvents}
	inVitals    = []string{tableVitals}
	inErrors    = []string{tableErrors}
	inClicks    = []string{tableClicks}
	inExposures = []string{tableExposures}
)

// keyMark stands in the name of a field for the key that a caller names.
const keyMark = "<key>"

// Fields lists every field. A type names those that it supports.
var Fields = []Field{
	{Name: "path", Doc: "Page path or URL as sent.", expr: "e.path"},
	{Name: "query_string", Doc: "What follows the question mark of path.", expr: "queryString(cutFragment(e.path))"},
	{Name: "host", Doc: "Host of the page, without www.", expr: "e.host"},
	{Name: "title", Doc: "Title of the page.", Tables: inEvents, expr: "e.title"},
	{Name: "event_name", Aliases: []string{"name"}, Doc: "Name of the event.", Tables: inEvents, expr: "e.name"},
	{Name: "namespace", Doc: "Grouping label.", Tables: inEvents, expr: "e.namespace"},
	{Name: "source", Doc: "Source label.", Tables: inEvents, expr: "e.source"},
	{Name: "profile_id", Doc: "The caller's own user id.", Personal: true, expr: "e.profile_id"},
	{
		Name: "anonymous_id",
		Doc:  "Visitor id as stored, which is hashed unless the website says otherwise.",
		expr: "e.anonymous_id",
	},
	{Name: "session_id", Doc: "Session id.", expr: "e.session_id"},
	{Name: "website_id", Doc: "Website id; for questions about an organization.", expr: "e.website_id"},
	{Name: "browser_name", Aliases: []string{"browser"}, Doc: "Browser.", expr: "e.browser"},
	{Name: "browser_version", Doc: "Its version.", expr: "e.browser_version"},
	{Name: "os_name", Aliases: []string{"os"}, Doc: "Operating system.", expr: "e.os"},
	{Name: "os_version", Doc: "Its version.", expr: "e.os_version"},
	{Name: "device_type", Aliases: []string{"device"}, Doc: "Kind of device.", expr: "e.device"},
	{Name: "country", Doc: "Country, ISO 3166-1 alpha-2.", expr: "e.country"},
	{Name: "region", Doc: "Region within the country.", expr: "e.region"},
	{Name: "city", Doc: "City.", expr: "e.city"},
	{
		Name: "connection", Aliases: []string{"connection_type"}, Doc: "Kind of connection, such as 4g.",
		expr: "e.connection",
	},
	{Name: "language", Doc: "Language of the browser, such as de-AT.", Tables: inEvents, expr: "e.language"},
	{Name: "timezone", Doc: "Time zone of the browser, an IANA name.", Tables: inEvents, expr: "e.timezone"},
	{
		Name: "screen", Aliases: []string{"screen_resolution"}, Doc: "Size of the screen, such as 1920x1080.",
		Tables: inEvents, expr: "e.screen",
	},
	{
		Name: "viewport", Aliases: []string{"viewport_size"}, Doc: "Size of the window's inside.", Tables: inEvents,
		expr: "e.viewport",
	},
	{Name: "referrer", Doc: "Address that led to the page.", Tables: inEvents, expr: "e.referrer"},
	{
		Name: "referrer_domain", Aliases: []string{"referrer_host"}, Doc: "Its host, without www.", Tables: inEvents,
		expr: "e.referrer_host",
	},
	{
		Name:   "referrer_type",
		Doc:    "What it is: direct, internal, search, social, ai, email, video or other.",
		Tables: inEvents,
		expr:   referrerKind,
	},
	{
		Name:   "referrer_name",
		Doc:    "What it is called, such as Google; Direct without one.",
		Tables: inEvents,
		expr:   referrerName,
	},
	{Name: "utm_source", Doc: "Campaign parameter utm_source.", Tables: inEvents, expr: "e.utm_source"},
	{Name: "utm_medium", Doc: "Campaign parameter utm_medium.", Tables: inEvents, expr: "e.utm_medium"},
	{Name: "utm_campaign", Doc: "Campaign parameter utm_campaign.", Tables: inEvents, expr: "e.utm_campaign"},
	{Name: "utm_term", Doc: "Campaign parameter utm_term.", Tables: inEvents, expr: "e.utm_term"},
	{Name: "utm_content", Doc: "Campaign parameter utm_content.", Tables: inEvents, expr: "e.utm_content"},
	{Name: "href", Doc: "Address of the link that was followed.", Tables: inEvents, expr: "e.href"},
	{Name: "link_text", Doc: "Text of the link.", Tables: inEvents, expr: "e.link_text"},
	{Name: "error_type", Doc: "Type of an error.", Tables: inErrors, expr: "e.name"},
	{Name: "message", Doc: "Message of the error.", Tables: inErrors, expr: "e.message"},
	{Name: "filename", Doc: "Address of the script in which it occurred.", Tables: inErrors, expr: "e.filename"},
	{Name: "lineno", Doc: "Line of the error in its file.", Kind: NumberField, Tables: inErrors, expr: "e.line"},
	{Name: "colno", Doc: "Column of the error in its line.", Kind: NumberField, Tables: inErrors, expr: "e.col"},
	{Name: "metric_name", Doc: "Metric of a measurement.", Tables: inVitals, expr: "e.name"},
	{
		Name: "metric_value", Aliases: []string{"value"}, Doc: "Value of the measurement.", Kind: NumberField,
		Tables: inVitals, expr: "e.value",
	},
	{
		Name: "time_on_page", Doc: "Seconds that the page was open, of a page exit.", Kind: NumberField, Tables: inEvents,
		expr: "toFloat32(" + timeOnPage + ")", single: true,
	},
	measured("scroll_depth", 4, "How far the page was scrolled, in percent."),
	sent("interactions", 5, "Clicks, keys and touches on the page.", "interaction_count"),
	sent("page_count", 6, "Pages of the session so far."),
	measured("load_time", 7, "Milliseconds until the page was loaded."),
	measured("dom_ready", 8, "Milliseconds until its DOM was ready."),
	measured("dom_interactive", 9, "Milliseconds until its DOM was interactive."),
	measured("ttfb", 10, "Milliseconds until its first byte."),
	measured("render_time", 11, "Milliseconds of rendering."),
	measured("redirect_time", 12, "Milliseconds of redirects."),
	measured("lookup_time", 13, "Milliseconds of the lookup of its name."),
	measured("rtt", 14, "Round trip in milliseconds as the browser estimates it."),
	measured("downlink", 15, "Downlink in Mbit/s as the browser estimates it."),
	{
		Name: fieldBot, Doc: "Whether a click is a program's. Without a filter by it, persons' clicks count alone.",
		Kind: FlagField, Tables: inClicks, expr: "e.is_bot",
	},
	{Name: "is_qr", Doc: "Whether a click came by the QR code.", Kind: FlagField, Tables: inClicks, expr: "e.is_qr"},
	{Name: "rule_id", Doc: "Rule that chose where a click led.", Tables: inClicks, expr: "e.rule_id"},
	{Name: "variant_id", Doc: "Variant that a click led to.", Tables: inClicks, expr: "e.variant_id"},
	{Name: fieldFlag, Doc: "Key of a feature flag.", Tables: inExposures, expr: "e.name"},
	{Name: "variant", Doc: "Key of the variant of a flag.", Tables: inExposures, expr: "e.variant"},
	{
		Name:   "environment",
		Doc:    "Environment in which a flag was asked for; empty for the base.",
		Tables: inExposures,
		expr:   "e.environment",
	},
	{Name: "property_key", Doc: "A key that properties has.", Kind: KeysField, Tables: inEvents, expr: hasProperty},
	{
		Name: "property:" + keyMark, Doc: "What properties has under a key.", Kind: ValueField, Tables: inEvents,
		expr: propertyText, set: propertyIsSet,
	},
	{
		Name: "trait:" + keyMark, Doc: "What is known of the user under a key: of profile_id, else of whom anonymous_id is.",
		Kind:     ValueField,
		Personal: true,
		expr:     traitText, set: "true", within: ofUser, reads: []string{"profile_traits", "aliases"},
	},
}

// sent is a number that an event has where its bit of measured is set.
func sent(name string, bit int, doc string, aliases ...string) Field {
	return Field{
		Name: name, Aliases: aliases, Doc: doc, Kind: NumberField, Tables: inEvents,
		expr: fmt.Sprintf("if(bitTest(e.measured, %d), toNullable(e.%s), NULL)", bit, name),
	}
}

// measured is one that may have a fraction, of which Float32 columns keep what they can.
func measured(name string, bit int, doc string) Field {
	f := sent(name, bit, doc)
	f.single = true
	return f
}

// has reports whether a table has the field.
func (f *Field) has(table string) bool { return f.Tables == nil || slices.Contains(f.Tables, table) }

// fieldsOf names the fields of a table, but for some.
func fieldsOf(table string, but ...string) []string {
	var names []string
	for i := range Fields {
		if f := &Fields[i]; f.has(table) && !slices.Contains(but, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// key returns what stands in a name for the field's key; ok is false when the name
// is not this field's.
func (f *Field) key(name string) (key string, ok bool) {
	prefix, keyed := strings.CutSuffix(f.Name, keyMark)
	if !keyed {
		return "", f.Name == name || slices.Contains(f.Aliases, name)
	}
	return strings.CutPrefix(name, prefix)
}

// findField returns the field of a name or an alias; nil when there is none.
func findField(name string) *Field {
	for i := range Fields {
		if _, ok := Fields[i].key(name); ok {
			return &Fields[i]
		}
	}
	return nil
}

// field returns the field of a name as the type means it.
func (t *Type) field(name string) *Field {
	for i := range t.Means {
		if _, ok := t.Means[i].key(name); ok {
			return &t.Means[i]
		}
	}
	return findField(name)
}

// fieldNames returns the names and aliases of all fields.
func fieldNames() []string {
	var names []string
	for i := range Fields {
		names = append(append(names, Fields[i].Name), Fields[i].Aliases...)
	}
	return names
}

// suggestField returns the field that the caller may have meant, else all there
// are.
func suggestField(name string) string {
	if s := didYouMean(name, fieldNames(), fieldSynonyms); s != "" {
		return s
	}
	names := make([]string, len(Fields))
	for i := range Fields {
		names[i] = Fields[i].Name
	}
	return "Supported filter fields: " + strings.Join(names, ", ")
}
