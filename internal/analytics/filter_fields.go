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
	// Personal fields tell who a user is, or one visitor from others: filters such as starts_with
	// would spell out an id. A caller who may query only public types must not filter or group
	// by them.
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
	{Name: "query_string", Doc: "Query string of the path, after the question " +
		"mark.", expr: "queryString(cutFragment(e.path))"},
	{Name: "host", Doc: "Host of the page, without www.", expr: "e.host"},
	{Name: "title", Doc: "Title of the page.", Tables: inEvents, expr: "e.title"},
	{Name: "event_name", Aliases: []string{"name"}, Doc: "Name of the event.", Tables: inEvents, expr: "e.name"},
	{Name: "namespace", Doc: "Grouping label.", Tables: inEvents, expr: "e.namespace"},
	{Name: "source", Doc: "Source label.", Tables: inEvents, expr: "e.source"},
	{Name: "profile_id", Doc: "Your own id of the user.", Personal: true, expr: "e.profile_id"},
	{
		Name:     "anonymous_id",
		Doc:      "Visitor id as stored; hashed unless the website's settings disable it.",
		Personal: true,
		expr:     "e.anonymous_id",
	},
	{Name: "session_id", Doc: "Session id.", Personal: true, expr: "e.session_id"},
	{Name: "website_id", Doc: "Website id; for queries about an organization.", expr: "e.website_id"},
	{Name: "browser_name", Aliases: []string{"browser"}, Doc: "Browser.", expr: "e.browser"},
	{Name: "browser_version", Doc: "Its version.", expr: "e.browser_version"},
	{Name: "os_name", Aliases: []string{"os"}, Doc: "Operating system.", expr: "e.os"},
	{Name: "os_version", Doc: "Its version.", expr: "e.os_version"},
	{Name: "device_type", Aliases: []string{"device"}, Doc: "Device type.", expr: "e.device"},
	{Name: "country", Doc: "Country, ISO 3166-1 alpha-2.", expr: "e.country"},
	{Name: "region", Doc: "Region within the country.", expr: "e.region"},
	{Name: "city", Doc: "City.", expr: "e.city"},
	{
		Name: "connection", Aliases: []string{"connection_type"}, Doc: "Connection type, such as 4g.",
		expr: "e.connection",
	},
	{Name: "language", Doc: "Browser language, such as de-AT.", Tables: inEvents, expr: "e.language"},
	{Name: "timezone", Doc: "Browser time zone, an IANA name.", Tables: inEvents, expr: "e.timezone"},
	{
		Name: "screen", Aliases: []string{"screen_resolution"}, Doc: "Screen size, such as 1920x1080.",
		Tables: inEvents, expr: "e.screen",
	},
	{
		Name: "viewport", Aliases: []string{"viewport_size"}, Doc: "Viewport size.", Tables: inEvents,
		expr: "e.viewport",
	},
	{Name: "referrer", Doc: "Referrer URL of the page.", Tables: inEvents, expr: "e.referrer"},
	{
		Name: "referrer_domain", Aliases: []string{"referrer_host"}, Doc: "Host of the referrer, without " +
			"www.", Tables: inEvents,
		expr: "e.referrer_host",
	},
	{
		Name:   "referrer_type",
		Doc:    "Type of the referrer: direct, internal, search, social, ai, email, video or other.",
		Tables: inEvents,
		expr:   referrerKind,
	},
	{
		Name:   "referrer_name",
		Doc:    "Name of the referrer, such as Google; Direct without a referrer.",
		Tables: inEvents,
		expr:   referrerName,
	},
	{Name: "utm_source", Doc: "Campaign parameter utm_source.", Tables: inEvents, expr: "e.utm_source"},
	{Name: "utm_medium", Doc: "Campaign parameter utm_medium.", Tables: inEvents, expr: "e.utm_medium"},
	{Name: "utm_campaign", Doc: "Campaign parameter utm_campaign.", Tables: inEvents, expr: "e.utm_campaign"},
	{Name: "utm_term", Doc: "Campaign parameter utm_term.", Tables: inEvents, expr: "e.utm_term"},
	{Name: "utm_content", Doc: "Campaign parameter utm_content.", Tables: inEvents, expr: "e.utm_content"},
	{Name: "href", Doc: "URL of the clicked link.", Tables: inEvents, expr: "e.href"},
	{Name: "link_text", Doc: "Text of the clicked link.", Tables: inEvents, expr: "e.link_text"},
	{Name: "error_type", Doc: "Type of the error.", Tables: inErrors, expr: "e.name"},
	{Name: "message", Doc: "Error message.", Tables: inErrors, expr: "e.message"},
	{Name: "filename", Doc: "URL of the script that raised the error.", Tables: inErrors, expr: "e.filename"},
	{Name: "lineno", Doc: "Line of the error in the script.", Kind: NumberField, Tables: inErrors, expr: "e.line"},
	{Name: "colno", Doc: "Column of the error in the script.", Kind: NumberField, Tables: inErrors, expr: "e.col"},
	{Name: "metric_name", Doc: "Web vital.", Tables: inVitals, expr: "e.name"},
	{
		Name: "metric_value", Aliases: []string{"value"}, Doc: "Measured value.", Kind: NumberField,
		Tables: inVitals, expr: "e.value",
	},
	{
		Name: "time_on_page", Doc: "Seconds for which the page was open, from a page " +
			"exit.", Kind: NumberField, Tables: inEvents,
		expr: "toFloat32(" + timeOnPage + ")", single: true,
	},
	measured("scroll_depth", 4, "Scroll depth of the page, in percent."),
	sent("interactions", 5, "Number of clicks, key presses and touches on the page.", "interaction_count"),
	sent("page_count", 6, "Number of pages in the session so far."),
	measured("load_time", 7, "Milliseconds until the page was loaded."),
	measured("dom_ready", 8, "Milliseconds until the DOM was ready."),
	measured("dom_interactive", 9, "Milliseconds until the DOM was interactive."),
	measured("ttfb", 10, "Milliseconds until the first byte."),
	measured("render_time", 11, "Milliseconds of rendering."),
	measured("redirect_time", 12, "Milliseconds of redirects."),
	measured("lookup_time", 13, "Milliseconds of the DNS lookup."),
	measured("rtt", 14, "Round-trip time in milliseconds, as estimated by the browser."),
	measured("downlink", 15, "Bandwidth in Mbit/s, as estimated by the browser."),
	{
		Name: fieldBot, Doc: "Whether a program made the click. Without a filter on this field, only clicks of persons " +
			"count.",
		Kind: FlagField, Tables: inClicks, expr: "e.is_bot",
	},
	{Name: "is_qr", Doc: "Whether the click came from the QR code.", Kind: FlagField, Tables: inClicks, expr: "e.is_qr"},
	{Name: "rule_id", Doc: "Rule that selected the target of the click.", Tables: inClicks, expr: "e.rule_id"},
	{Name: "variant_id", Doc: "Variant that the click led to.", Tables: inClicks, expr: "e.variant_id"},
	{Name: fieldFlag, Doc: "Key of a feature flag.", Tables: inExposures, expr: "e.name"},
	{Name: "variant", Doc: "Key of the flag's variant.", Tables: inExposures, expr: "e.variant"},
	{
		Name:   "environment",
		Doc:    "Environment of the flag evaluation; empty for the base.",
		Tables: inExposures,
		expr:   "e.environment",
	},
	{Name: "property_key", Doc: "Key in the event's properties.", Kind: KeysField, Tables: inEvents, expr: hasProperty},
	{
		Name: "property:" + keyMark, Doc: "Value of a key in the event's properties.", Kind: ValueField, Tables: inEvents,
		expr: propertyText, set: propertyIsSet,
	},
	{
		Name: "trait:" + keyMark, Doc: "Trait of the user: of profile_id if present, otherwise of the user with this " +
			"anonymous_id.",
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
