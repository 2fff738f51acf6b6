package analytics

// outboundFilters are what clicks on links to elsewhere may be filtered by.
var outboundFilters = fieldsOf(tableEvents, "event_name", "time_on_page")

// The columns that types of links share.
var (
	clickCount = Column{
		Name: "total_clicks", Type: Number, Label: "Clicks", Description: "Clicks.", Example: "57", Expr: "count()",
	}
	clickUsers = Column{
		Name: "unique_users", Type: Number, Label: "Users", Description: "Distinct anonymous ids with a click.",
		Example: "41", Expr: visitors,
	}
	clickShare = Column{
		Name: "percentage", Type: Number, Label: "Share", Unit: percent,
		Description: "Share of all clicks on outbound links.", Example: "12.5", Expr: shareOfViews,
	}
)

var outboundTypes = []Type{
	{
		Name: "outbound_links", Subjects: Website | Organization,
		Title: "Outbound links", Category: "Outbound", Tags: []string{"links"}, Visualization: "table",
		Description: "Outbound links, most clicks first.",
		Columns: []Column{
			{
				Name: "href", Type: String, Label: "Link", Description: "URL of the link.", Example: "https://example.org/",
				Expr: "e.href",
			},
			{Name: "text", Type: String, Label: "Text", Description: "Text of the link.", Example: "more", Expr: "e.link_text"},
			clickCount, clickUsers,
			{
				Name: "unique_sessions", Type: Number, Label: "Sessions", Description: "Distinct sessions with a click.",
				Example: "44", Expr: sessions,
			},
			clickShare,
			{
				Name: "last_clicked", Type: Datetime, Label: "Last", Description: "Time of the latest click.",
				Example: "2026-03-29T11:30:00.000Z", Expr: "max(e.event_time)",
			},
		},
		Filters: outboundFilters, Groups: eventGroups, Sorts: []string{"total_clicks", "unique_users", "last_clicked"},
		DefaultLimit: DefaultLimit, Public: true,
		Where: outgoing, GroupBy: "e.href, e.link_text", Keep: "e.href != ''", OrderBy: "total_clicks", Desc: true,
		Tie: "e.href, e.link_text",
	},
	{
		Name: "outbound_domains", Subjects: Website | Organization,
		Title: "Outbound domains", Category: "Outbound", Tags: []string{"links"}, Visualization: "table",
		Description: "Hosts of outbound links, most clicks first.",
		Columns: []Column{
			{
				Name: "domain", Type: String, Label: "Domain", Description: "Host of the links, without www.",
				Example: "example.org", Expr: linkDomain,
			},
			clickCount, clickUsers,
			{
				Name: "unique_links", Type: Number, Label: "Links", Description: "Distinct URLs.", Example: "3",
				Expr: "uniqExact(e.href)",
			},
			clickShare,
		},
		Filters: outboundFilters, Groups: eventGroups, Sorts: []string{"total_clicks", "unique_users"},
		DefaultLimit: DefaultLimit, Public: true,
		Where: outgoing, GroupBy: linkDomain, Keep: linkDomain + " != ''", OrderBy: "total_clicks", Desc: true,
		Tie: linkDomain,
	},
}

const linkDomain = "lower(domainWithoutWWW(e.href))"
