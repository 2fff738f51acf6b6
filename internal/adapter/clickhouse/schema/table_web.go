package schema

import (
	"math"
	"slices"

	"github.com/millrace/millrace/internal/adapter/clickhouse/native"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// Few events of a table may have any of the web's fields, so their columns are
// apart in a block: a row without them costs nothing, and a block in which no row
// has any does not send them. The columns' own defaults say the same as such a
// row: an empty text, and 0 with no bit in measured. Zeros, unlike NaNs, are not
// written out where nearly all values of a column are.

// webTexts are the columns of texts: the short ones of few values as
// dictionaries.
var webTexts = [record.NumWebTexts]struct {
	name string
	few  bool
}{
	record.Host:           {"host", true},
	record.Title:          {"title", false},
	record.Referrer:       {"referrer", false},
	record.ReferrerHost:   {"referrer_host", false},
	record.ReferrerKind:   {"referrer_kind", true},
	record.ReferrerName:   {"referrer_name", false},
	record.UTMSource:      {"utm_source", true},
	record.UTMMedium:      {"utm_medium", true},
	record.UTMCampaign:    {"utm_campaign", true},
	record.UTMTerm:        {"utm_term", false},
	record.UTMContent:     {"utm_content", false},
	record.ClickKind:      {"click_kind", true},
	record.ClickID:        {"click_id", false},
	record.Browser:        {"browser", true},
	record.BrowserVersion: {"browser_version", true},
	record.OS:             {"os", true},
	record.OSVersion:      {"os_version", true},
	record.Device:         {"device", true},
	record.Country:        {"country", true},
	record.Region:         {"region", true},
	record.City:           {"city", true},
	record.Bot:            {"bot", true},
	record.BotKind:        {"bot_kind", true},
	record.Language:       {"language", true},
	record.Timezone:       {"timezone", true},
	record.Screen:         {"screen", true},
	record.Viewport:       {"viewport", true},
	record.Connection:     {"connection", true},
	record.Href:           {"href", false},
	record.LinkText:       {"link_text", false},
	record.Message:        {"message", false},
	record.Filename:       {"filename", false},
	record.Stack:          {"stack", false},
	record.OriginalName:   {"original_name", false},
}

// webNumbers are the columns of numbers.
var webNumbers = [record.NumWebNumbers]struct{ name, typ string }{
	record.Value:          {"value", "Float64"},
	record.Line:           {"line", "UInt32"},
	record.Column:         {"col", "UInt32"},
	record.TimeOnPage:     {"time_on_page", "Float32"},
	record.ScrollDepth:    {"scroll_depth", "Float32"},
	record.Interactions:   {"interactions", "UInt32"},
	record.PageCount:      {"page_count", "UInt32"},
	record.LoadTime:       {"load_time", "Float32"},
	record.DOMReady:       {"dom_ready", "Float32"},
	record.DOMInteractive: {"dom_interactive", "Float32"},
	record.TTFB:           {"ttfb", "Float32"},
	record.RenderTime:     {"render_time", "Float32"},
	record.RedirectTime:   {"redirect_time", "Float32"},
	record.LookupTime:     {"lookup_time", "Float32"},
	record.RTT:            {"rtt", "Float32"},
	record.Downlink:       {"downlink", "Float32"},
}

func textColumns(which ...record.WebText) []Column {
	columns := make([]Column, len(which))
	for i, t := range which {
		get := func(r *sink.Row) []byte { return r.Event.Web.Texts[t] }
		c := Column{
			Name: webTexts[t].name, Type: "String", Codec: "ZSTD(1)", Doc: record.WebTexts[t].Help, Native: native.Text(get),
			Web: true,
		}
		if webTexts[t].few {
			c.Type, c.Codec, c.Native = "LowCardinality(String)", "", native.LowCardinality(get)
		}
		columns[i] = c
	}
	return columns
}

func numberColumns(which ...record.WebNumber) []Column {
	columns := make([]Column, len(which))
	for i, n := range which {
		c := Column{
			Name: webNumbers[n].name, Type: webNumbers[n].typ, Codec: "ZSTD(1)", Doc: record.WebNumbers[n].Help, Web: true,
		}
		get := func(r *sink.Row) float64 { return r.Event.Web.Numbers[n] }
		switch c.Type {
		case "Float64":
			c.Native = native.Number(native.Float64, get)
		case "Float32":
			c.Native = native.Number(native.Float32,
				func(r *sink.Row) float32 { return float32(max(-math.MaxFloat32, min(get(r), math.MaxFloat32))) })
		default:
			c.Native = native.Number(native.UInt32,
				func(r *sink.Row) uint32 { return uint32(max(0, min(get(r), math.MaxUint32))) })
		}
		columns[i] = c
	}
	return columns
}

// originalName is the name as sent of what is stored under another one.
var originalName = textColumns(record.OriginalName)

// pageColumns are those of pages, which events have had since browsers send them.
var pageColumns = slices.Concat(textColumns(pageTexts...), numberColumns(pageNumbers...), []Column{measured})

// measured tells a zero that was sent from none.
var measured = Column{
	Name: "measured", Type: "UInt32", Codec: "ZSTD(1)",
	Doc:    "Which of the numbers were sent, one bit each from value (bit 0) to downlink (bit 15); the others are 0.",
	Native: native.Number(native.UInt32, func(r *sink.Row) uint32 { return r.Event.Web.Has }), Web: true,
}

// pageTexts and pageNumbers are what events can have: all but what errors have.
var (
	pageTexts = []record.WebText{
		record.Host, record.Title, record.Referrer, record.ReferrerHost, record.ReferrerKind, record.ReferrerName,
		record.UTMSource, record.UTMMedium, record.UTMCampaign, record.UTMTerm, record.UTMContent, record.ClickKind,
		record.ClickID, record.Browser, record.BrowserVersion, record.OS, record.OSVersion, record.Device, record.Country,
		record.Region, record.City, record.Bot, record.BotKind, record.Language, record.Timezone, record.Screen,
		record.Viewport, record.Connection, record.Href, record.LinkText,
	}
	pageNumbers = []record.WebNumber{
		record.Value, record.TimeOnPage, record.ScrollDepth, record.Interactions, record.PageCount, record.LoadTime,
		record.DOMReady, record.DOMInteractive, record.TTFB, record.RenderTime, record.RedirectTime, record.LookupTime,
		record.RTT, record.Downlink,
	}
	// visitorTexts are what measurements and errors have.
	visitorTexts = []record.WebText{
		record.Host, record.Browser, record.BrowserVersion, record.OS, record.OSVersion, record.Device,
		record.Country, record.Region, record.City, record.Connection,
	}
)
