package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/analytics"
)

func queryTypesPage(string) (string, error) {
	d := newDocument("Query types", "`internal/analytics/catalog*.go`")
	d.paragraph("What can be asked with `POST /v1/query`, by name in `parameters`. The same table\n" +
		"answers `GET /v1/query/types`, validates requests and makes the SQL. The types called public can be asked by\n" +
		"everybody of a public website.")
	for i := range analytics.Catalog {
		describe(d, &analytics.Catalog[i])
	}
	return d.String(), nil
}

func describe(d *document, t *analytics.Type) {
	d.heading(t.Name)
	d.paragraph(t.Description)
	facts := []string{"Category: " + t.Category + "."}
	if t.Subjects == analytics.Link {
		facts = append(facts, "Asked with `link_id`.")
	}
	for _, list := range []struct {
		before string
		names  []string
	}{
		{"Also called", t.Aliases},
		{"Needs a filter by", t.Requires},
		{"Filters:", slices.Concat(t.Filters, t.Measures, t.FilterOptions())},
		{"Grouped by any of", t.Groups},
		{"Sorted by any of", t.Sorts},
	} {
		if len(list.names) > 0 {
			facts = append(facts, list.before+" "+codes(list.names)+".")
		}
	}
	switch {
	case t.SingleRow():
		facts = append(facts, "One row.")
	case t.DefaultLimit > 0:
		facts = append(facts, fmt.Sprintf("%d rows unless asked otherwise.", t.DefaultLimit))
	}
	if g := t.Granularities(); len(g) > 0 {
		facts = append(facts, "One row per "+codes(g)+".")
	}
	facts = append(facts, "Needs "+code(t.Scope)+".")
	if t.Public {
		facts = append(facts, "Public.")
	}
	d.paragraph(strings.Join(facts, " "))
	describeOptions(d, t)
	var rows [][]string
	for _, c := range t.Columns {
		rows = append(rows, []string{code(c.Name), string(c.Type), c.Unit, c.Description, code(c.Example)})
	}
	d.table([]string{"Column", "Type", "Unit", "Meaning", "Example"}, rows)
}

// describeOptions lists what a parameter object may say for the type alone.
func describeOptions(d *document, t *analytics.Type) {
	var rows [][]string
	for _, o := range t.Options {
		value := string(o.Kind)
		if len(o.OneOf) > 0 {
			value = strings.Join(o.OneOf, ", ")
		}
		without := o.Default
		if o.Required {
			without = "required"
		}
		rows = append(rows, []string{code(o.Name), value, without, o.Doc})
	}
	if len(rows) > 0 {
		d.table([]string{"Option", "Value", "Default", "Meaning"}, rows)
	}
}
