package export

import "github.com/millrace/millrace/internal/contract/record"

// Type says what the values of a column are.
type Type uint8

// The types. A value that is not there is left out in NDJSON, empty in CSV and
// null in Parquet.
const (
	Text    Type = iota // a text; an empty one is not there
	Time                // an instant, in milliseconds; 1970-01-01 is not there
	Object              // a JSON object as text; an empty text is not there
	Float64             // a number
	Float32             // a number of 32 bits
	Count               // a whole number from 0
	Cursor              // the row's cursor
)

// String returns the type's name in the reference.
func (t Type) String() string {
	return [...]string{"text", "time", "object", "number", "number", "whole number", "cursor"}[t]
}

// Column is one column of an export, and of the table that it is read from.
type Column struct {
	Name string
	Type Type
	Doc  string
	// Bit is which bit of the table's column measured says that the number was
	// sent; 0 counts from 1, and is no bit: such a number is always there.
	Bit int
	// NonZero says that 0 stands for a number that is not there.
	NonZero bool
}

// Kind is what can be exported: one table.
type Kind struct {
	Name    string // in requests; the table has the same
	Doc     string
	Columns []Column
}

// Column returns the column of that name, or nil.
func (k *Kind) Column(name string) *Column {
	for i := range k.Columns {
		if k.Columns[i].Name == name {
			return &k.Columns[i]
		}
	}
	return nil
}

// ColumnNames returns the names of all columns, in their order.
func (k *Kind) ColumnNames() []string {
	names := make([]string, len(k.Columns))
	for i, c := range k.Columns {
		names[i] = c.Name
	}
	return names
}

// KindOf returns the kind of that name, or nil. The empty name is events.
func KindOf(name string) *Kind {
	if name == "" {
		return Kinds[0]
	}
	for _, k := range Kinds {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// identity begins every kind, and cursor ends it.
var (
	identity = []Column{
		{Name: "event_id", Doc: "The eventId, as sent or as generated on receipt."},
		{Name: "name", Doc: "Name of the event, metric or type of error."},
		{Name: "event_time", Type: Time, Doc: "Time of the event."},
		{Name: "received_at", Type: Time, Doc: "Time of receipt."},
		{Name: "raw_time", Type: Time, Doc: "Timestamp as sent, if event_time differs from it."},
		{Name: "website_id", Doc: "Website id."},
		{Name: "anonymous_id", Doc: "Visitor id, usually hashed with the salt of the day."},
		{Name: "session_id", Doc: "Session id."},
		{Name: "profile_id", Doc: "Your own id of the user."},
		{Name: "path", Doc: "Path of the page."},
	}
	cursor = Column{Name: "cursor", Type: Cursor, Doc: "Cursor that continues after this row."}
)

// Kinds is the table of what can be exported.
var Kinds = []*Kind{
	{
		Name: "events", Doc: "Page views and all other events.",
		Columns: kind(
			[]Column{
				{Name: "type", Doc: "How the event was sent, such as custom."},
				{Name: "namespace", Doc: "Grouping label."},
				{Name: "source", Doc: "Source label."},
				{Name: "properties", Type: Object, Doc: "Properties of the event."},
			},
			texts(
				web{"host", record.Host}, web{"title", record.Title}, web{"referrer", record.Referrer},
				web{"referrer_host", record.ReferrerHost}, web{"referrer_kind", record.ReferrerKind},
				web{"referrer_name", record.ReferrerName}, web{"utm_source", record.UTMSource}, web{"utm_medium", record.UTMMedium},
				web{"utm_campaign", record.UTMCampaign}, web{"utm_term", record.UTMTerm}, web{"utm_content", record.UTMContent},
				web{"click_kind", record.ClickKind}, web{"click_id", record.ClickID},
			),
			visitor,
			texts(
				web{"bot", record.Bot}, web{"bot_kind", record.BotKind}, web{"language", record.Language},
				web{"timezone", record.Timezone},
				web{"screen", record.Screen}, web{"viewport", record.Viewport}, web{"href", record.Href},
				web{"link_text", record.LinkText}, web{"original_name", record.OriginalName},
			),
			[]Column{
				measured("value", Float64, record.Value), measured("time_on_page", Float32, record.TimeOnPage),
				measured("scroll_depth", Float32, record.ScrollDepth), measured("interactions", Count, record.Interactions),
				measured("page_count", Count, record.PageCount), measured("load_time", Float32, record.LoadTime),
				measured("dom_ready", Float32, record.DOMReady), measured("dom_interactive", Float32, record.DOMInteractive),
				measured("ttfb", Float32, record.TTFB), measured("render_time", Float32, record.RenderTime),
				measured("redirect_time", Float32, record.RedirectTime), measured("lookup_time", Float32, record.LookupTime),
				measured("rtt", Float32, record.RTT), measured("downlink", Float32, record.Downlink),
			},
		),
	},
	{
		Name: "vitals", Doc: "Web vitals; name is the metric.",
		Columns: kind(
			[]Column{
				{Name: "value", Type: Float64, Doc: "Measured value: milliseconds, frames per second for FPS, no unit for CLS."},
			},
			hosted(),
		),
	},
	{
		Name: "errors", Doc: "Script errors of pages; name is the type of the error.",
		Columns: kind(
			texts(web{"message", record.Message}, web{"filename", record.Filename}, web{"stack", record.Stack},
				web{"original_name", record.OriginalName}),
			[]Column{
				{Name: "line", Type: Count, Doc: record.WebNumbers[record.Line].Help, NonZero: true},
				{Name: "col", Type: Count, Doc: record.WebNumbers[record.Column].Help, NonZero: true},
			},
			hosted(),
		),
	},
}

// visitor are the columns that tell of the browser and the place.
var visitor = texts(
	web{"browser", record.Browser}, web{"browser_version", record.BrowserVersion}, web{"os", record.OS},
	web{"os_version", record.OSVersion},
	web{"device", record.Device}, web{"country", record.Country}, web{"region", record.Region}, web{"city", record.City},
	web{"connection", record.Connection},
)

func hosted() []Column { return append(texts(web{"host", record.Host}), visitor...) }

// kind puts the columns of a kind together.
func kind(parts ...[]Column) []Column {
	all := append([]Column(nil), identity...)
	for _, p := range parts {
		all = append(all, p...)
	}
	return append(all, cursor)
}

// web is a text that a browser sends or that is found out about it.
type web struct {
	name string
	text record.WebText
}

func texts(which ...web) []Column {
	columns := make([]Column, len(which))
	for i, w := range which {
		columns[i] = Column{Name: w.name, Doc: record.WebTexts[w.text].Help}
	}
	return columns
}

// measured is a number that not every event has.
func measured(name string, t Type, n record.WebNumber) Column {
	return Column{Name: name, Type: t, Doc: record.WebNumbers[n].Help, Bit: int(n) + 1}
}
