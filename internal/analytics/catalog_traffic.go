package analytics

import "strings"

// The columns that breakdowns of page views share.
var (
	viewCount = Column{
		Name: "pageviews", Type: Number, Label: "Page views", Description: "Page views.", Example: "402", Expr: "count()",
	}
	viewVisitors = Column{
		Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids with a page view.",
		Example: "233", Expr: visitors,
	}
	viewShare = Column{
		Name: "percentage", Type: Number, Label: "Share", Unit: percent, Description: "Share of all page views in the range.",
		Example: "49.51", Expr: shareOfViews,
	}
	leadShare = Column{
		Name: viewShare.Name, Type: Number, Label: viewShare.Label, Unit: percent, Example: viewShare.Example,
		Description: "Share of the page views in the range that no other page of the website referred.", Expr: shareOfViews,
	}
)

// breakdown is a type that says how many page views each value of a field has.
// Those without a value are left out, and count for the shares.
func breakdown(name, category, label, field, description, example string, aliases ...string) Type {
	return Type{
		Name: name, Aliases: aliases, Subjects: Website | Organization,
		Title: label, Category: category, Tags: []string{"breakdown"}, Visualization: "table", Description: description,
		Columns: []Column{
			{Name: "name", Type: String, Label: label, Description: "Value of the field.", Example: example, Expr: field},
			viewCount, viewVisitors, viewShare,
		},
		Filters: viewFilters, Groups: eventGroups, Sorts: []string{"pageviews", "visitors"}, DefaultLimit: DefaultLimit,
		Public: true,
		Where:  pageView, GroupBy: field, Keep: field + " != ''", OrderBy: "pageviews", Desc: true, Tie: field,
		Rollup: viewsRollup(strings.TrimPrefix(field, "e."), field, "", nil),
	}
}

// The parts of what led to a page. A page view without any came directly, and so
// did one whose fields nobody filled.
const (
	referrerKind = "if(e.referrer_kind = '', 'direct', CAST(e.referrer_kind, 'String'))"
	referrerName = "if(" + referrerKind +
		" = 'direct', 'Direct', if(e.referrer_name = '', e.referrer_host, e.referrer_name))"
)

const notInternal = " AND e.referrer_kind != 'internal'"

// referrerRollup is the rollup of what led to pages, by the names of sites or by
// their kinds.
func referrerRollup(by string) *Rollup {
	r := overViews(dimensionShape(dimensionReferrer, referrerName, referrerKind), by, ofViews, map[string]string{
		"name": by, "referrer": "min(e.referrer)", "source": "min(e.utm_source)", "domain": "min(e.referrer_host)",
		"referrer_type": "min(e.detail)", "parsed_referrer": "min(e.value)",
	})
	r.Tie = by
	return r
}

// referrers is a type about what led to pages.
func referrers(name, title, description, by string, rollup *Rollup, aliases ...string) Type {
	return Type{
		Name: name, Aliases: aliases, Subjects: Website | Organization,
		Title: title, Category: "Traffic", Tags: []string{"traffic"}, Visualization: "table", Description: description,
		Columns: []Column{
			{
				Name: "name", Type: String, Label: "Source",
				Description: "Name of the referrer, such as Google; Direct without a referrer.",
				Example:     "Google", Expr: by,
			},
			viewCount, viewVisitors, leadShare,
			{
				Name: "referrer", Type: String, Label: "Referrer", Description: "One of the referrer URLs.",
				Example: "https://www.google.com/", Expr: "min(e.referrer)",
			},
			{
				Name: "source", Type: String, Label: "Campaign source", Description: "One of the values of utm_source.",
				Example: "newsletter", Expr: "min(CAST(e.utm_source, 'String'))",
			},
			{
				Name: "domain", Type: String, Label: "Domain", Description: "One of the referrer hosts.",
				Example: "google.com", Expr: "min(e.referrer_host)",
			},
			{
				Name:        "referrer_type",
				Type:        String,
				Label:       "Kind",
				Description: "Type of the referrer: direct, search, social, ai, email, video or other.",
				Example:     "search",
				Expr:        "min(" + referrerKind + ")",
			},
			{
				Name: "parsed_referrer", Type: String, Label: "Parsed referrer",
				Description: "Name of the referrer; Direct without a referrer.", Example: "Google",
				Expr: "min(" + referrerName + ")",
			},
		},
		Filters: viewFilters, Groups: eventGroups, Sorts: []string{"pageviews", "visitors"}, DefaultLimit: DefaultLimit,
		Public: true,
		// A page of the same website leads on, not there.
		Where: pageView + notInternal, GroupBy: by, OrderBy: "pageviews", Desc: true, Tie: by, Rollup: rollup,
	}
}

var trafficTypes = []Type{
	referrers("top_referrers", "Top referrers", "Page views by referrer, most page views first.", referrerName,
		referrerRollup("e.value"), "traffic"),
	referrers("traffic_sources", "Traffic sources", "Page views by type of referrer, most page views first.",
		referrerKind, referrerRollup("e.detail")),
	breakdown("utm_sources", "Traffic", "Campaign source", "e.utm_source",
		"Page views by utm_source, most page views first.", "newsletter"),
	breakdown("utm_mediums", "Traffic", "Campaign medium", "e.utm_medium",
		"Page views by utm_medium, most page views first.", "email"),
	breakdown("utm_campaigns", "Traffic", "Campaign", "e.utm_campaign",
		"Page views by utm_campaign, most page views first.", "spring"),
	breakdown("utm_terms", "Traffic", "Campaign term", "e.utm_term", "Page views by utm_term, most page views "+
		"first.", "shoes"),
	breakdown("utm_content", "Traffic", "Campaign content", "e.utm_content",
		"Page views by utm_content, most page views first.", "footer"),
}
