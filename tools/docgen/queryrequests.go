package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/analytics"
)

// kinds are the kinds of fields as a reader knows them.
var kinds = map[analytics.FieldKind]string{
	analytics.TextField: "text", analytics.NumberField: "number", analytics.KeysField: "keys",
	analytics.ValueField: "JSON",
	analytics.FlagField:  "true or false",
}

// queryRequestsPage lists what requests say besides the types that they ask.
func queryRequestsPage(string) (string, error) {
	d := newDocument("Query requests",
		"`internal/analytics/filter_fields.go`, `filter_operators.go`, `bucket.go`, `preset.go`")
	d.paragraph("What `POST /v1/query` takes besides the [types](query-types/README.md): filters, lengths of buckets, " +
		"presets and comparisons.")
	filters(d)
	series(d)
	d.heading("Comparisons")
	d.paragraph("`compare` is `\"" + analytics.PreviousPeriod +
		"\"` or an object with `startDate` and `endDate`. Each row then has `previous`, its numbers\n" +
		"in that range, and `change`, by how many percent each is more; `null` where it was 0. A row that was not there " +
		"has\n" +
		"zeros. The period before a range of whole days is as many whole days: today is compared with all of yesterday, a " +
		"month\n" +
		"of 31 days with the 31 days before it. Of any other range it is the same length. The buckets of a series are " +
		"matched by\n" +
		"their place. Types that list latest things, and those about the present, cannot be compared.")
	return d.String(), nil
}

func filters(d *document) {
	d.heading("Filters")
	d.paragraph("`filters` is a list that must all hold. An entry is a comparison, " +
		"`{\"field\":\"path\",\"op\":\"eq\",\"value\":\"/\"}`, or combines\n" +
		"others: `{\"and\":[…]}`, `{\"or\":[…]}`, `{\"not\":{…}}`. A comparison holds or does not: what `not` keeps is " +
		"precisely what its\n" +
		"filter drops, events without the field among them. What a type does not support is refused, never ignored.")
	limit := func(what string, most int, unit string) []string { return []string{what, strconv.Itoa(most), unit} }
	d.table([]string{"Limit", "Most", "Unit"}, [][]string{
		limit("Comparisons of a request", analytics.MaxFilters, "comparisons, wherever they stand"),
		limit("Depth", analytics.MaxFilterDepth, "levels, that of the list included"),
		limit("Values of one comparison", analytics.MaxFilterValues, "values"),
		limit("Length of a value", analytics.MaxFilterValueLen, "characters"),
		limit("Length of the key of a property or a trait", analytics.MaxFilterKeyLen, "characters"),
		limit("Length of a regular expression", analytics.MaxRegexLen, "characters"),
		limit("Size of a regular expression, written out", analytics.MaxRegexSize, "steps"),
	})
	d.heading("Fields")
	d.paragraph("A text that was not sent is empty; a number that was not sent is none, and no comparison with it " +
		"holds but negative ones. Under the key\n" +
		"of a property or a trait may stand any JSON: it is compared as a text with texts (a number or a boolean is its " +
		"JSON) and\n" +
		"as a number with numbers, where a text that is one counts as one. A property that is not there has the empty " +
		"text; a\n" +
		"trait that is not known equals nothing. Traits are those of the event's `profile_id`, else of the user that its " +
		"visitor id\n" +
		"was told to be, and what was told last counts.")
	d.paragraph("A caller who can query only the public types of a public website cannot filter or group by a personal " +
		"field.")
	var rows [][]string
	for _, f := range analytics.Fields {
		personal := ""
		if f.Personal {
			personal = "yes"
		}
		rows = append(rows, []string{code(f.Name), codes(f.Aliases), kinds[f.Kind], personal, f.Doc})
	}
	d.table([]string{"Field", "Also", "Kind", "Personal", "Meaning"}, rows)
	d.heading("Operators")
	d.paragraph("Values are strings, numbers and booleans. Texts are compared exactly, case included.")
	rows = nil
	for _, o := range analytics.Operators {
		var of []string
		for _, k := range []analytics.FieldKind{
			analytics.TextField, analytics.NumberField, analytics.KeysField, analytics.ValueField, analytics.FlagField,
		} {
			if o.Supports(k) {
				of = append(of, kinds[k])
			}
		}
		takes := map[analytics.Arity]string{
			analytics.OneValue: "a value", analytics.ListOfValues: "an array", analytics.NoValue: "nothing",
		}[o.Takes]
		rows = append(rows, []string{code(o.Name), takes, strings.Join(of, ", "), o.Doc})
	}
	d.table([]string{"Operator", "Takes", "Of", "Meaning"}, rows)
}

func series(d *document) {
	d.heading("Granularities")
	d.paragraph("A series has a row for each bucket, empty ones included, cut at the clock of the request's time zone: " +
		"where clocks are\n" +
		"changed a day has 23 or 25 hours, or whatever the zone says. The first bucket starts with the range. Weeks begin " +
		"on\n" +
		"Sunday; a week and a month are called by the day on which their bucket starts.")
	var rows [][]string
	for _, g := range analytics.Granularities {
		rows = append(rows, []string{code(g.String()), codes(g.Names()[1:]), fmt.Sprintf("%d days", g.MaxDays())})
	}
	d.table([]string{"Granularity", "Also", "Longest range"}, rows)
	d.heading("Presets")
	d.paragraph("Whole days of the request's time zone. A preset wins over dates.")
	rows = nil
	for _, p := range analytics.Presets {
		rows = append(rows, []string{code(p.Name), p.Doc})
	}
	d.table([]string{"Preset", "Meaning"}, rows)
}
