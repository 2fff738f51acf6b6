package analytics

// What exposures may be filtered by.
var exposureFilters = []string{fieldFlag, "environment", "variant"}

// fieldFlag is the field without which counts of exposures mean nothing.
const fieldFlag = "flag_key"

// The columns that types of exposures share.
var (
	exposureVariant = Column{
		Name: "variant", Type: String, Label: "Variant", Description: "Key of the variant.", Example: "one-page",
		Expr: "variant",
	}
	exposureCount = Column{
		Name: "exposures", Type: Number, Label: "Exposures", Example: "1240", Expr: "toUInt64(round(sum(told)))",
		Description: "Exposed visitors, counted once per UTC day and environment, scaled by the sample.",
	}
	exposureVisitors = Column{
		Name: "visitors", Type: Number, Label: "Visitors", Example: "860", Expr: "toUInt64(round(sum(weight)))",
		Description: "Distinct visitors, scaled by the sample.",
	}
)

// ofExposures is a type about the exposures to a flag.
func ofExposures(name, title, description string, from *Source, columns ...Column) Type {
	return Type{
		Name: name, Subjects: Website, Table: tableExposures, Title: title, Description: description,
		Category: "Feature flags", Tags: []string{"flags"}, Visualization: "table",
		Columns: columns, Filters: exposureFilters, Requires: []string{fieldFlag}, DefaultLimit: DefaultLimit, From: from,
	}
}

var exposureTypes = []Type{
	flagExposures(), flagExposuresByDate(), flagConversions(),
}

func flagExposures() Type {
	t := ofExposures(
		"flag_exposures", "Exposures", "Visitors by variant of a flag. Signed-in users are identified by your own user id, "+
			"other visitors by anonymous id. If the website hashes anonymous ids, they change every UTC day.",
		perExposed("toString(e.variant) AS variant, ", "variant, "), exposureVariant, exposureCount, exposureVisitors,
	)
	t.GroupBy, t.OrderBy, t.Desc, t.Tie = "variant", "visitors", true, "variant"
	t.Sorts = []string{"visitors", "exposures", "variant"}
	return t
}

func flagExposuresByDate() Type {
	t := ofExposures(
		"flag_exposures_by_date", "Exposures over time",
		"Visitors who were exposed to a variant of a flag by day; by variant with groupBy. An exposure counts at the time "+
			"of the first one of its UTC day.",
		perExposed("", ""), dateColumn, exposureCount, exposureVisitors,
	)
	t.Tags, t.Visualization, t.DefaultLimit = []string{"flags", "series"}, "line", MaxLimit
	t.Series, t.OrderBy, t.Sorts = true, "date", []string{"date", "exposures", "visitors"}
	t.Groups = []string{"variant", "environment"}
	return t
}

func flagConversions() Type {
	t := ofExposures(
		"flag_conversions", "Conversions by variant",
		"Conversion rate by variant: visitors exposed in the range who sent the event after their first exposure. Visitors "+
			"exposed to several variants have a row of their own.",
		perConverted, exposureVariant,
		Column{
			Name: "mixed", Type: Boolean, Label: "Mixed", Example: "false", Expr: "mixed",
			Description: "Whether the row is for visitors exposed to several variants; its variant is empty.",
		},
		exposureVisitors,
		Column{
			Name: "conversions", Type: Number, Label: "Conversions", Example: "129",
			Description: "Of these visitors, those who sent the event after their first exposure, scaled by the sample.",
			Expr:        "toUInt64(round(sum(weight * converted)))",
		},
		Column{
			Name: "conversion_rate", Type: Number, Label: "Rate", Unit: percent, Description: "Share of the variant's " +
				"visitors that converted.", Example: "15",
			Expr: "round(100 * " + convertedShare + ", 2)",
		},
		Column{
			Name: "rate_low", Type: Number, Label: "From", Unit: percent, Example: "12.77", Expr: wilson("-"),
			Description: "Lower bound of the 95 % confidence interval of the rate (Wilson), from the visitors that were " +
				"counted.",
		},
		Column{
			Name: "rate_high", Type: Number, Label: "To", Unit: percent, Example: "17.54", Expr: wilson("+"),
			Description: "Upper bound of the confidence interval.",
		},
	)
	t.Tags, t.Filters = []string{"flags", "conversion"}, []string{fieldFlag, "environment"}
	t.Options = []Option{{
		Name: "event_name", Kind: OptionText, Required: true, Min: 1, Max: maxEventNameLen,
		Doc: "Name of the conversion event.", Example: `"purchase"`,
	}}
	t.GroupBy, t.OrderBy, t.Desc, t.Tie = "variant, mixed", "visitors", true, "variant, mixed"
	t.Sorts = []string{"visitors", "conversions", "conversion_rate", "variant"}
	return t
}
