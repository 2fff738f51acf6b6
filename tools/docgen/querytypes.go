package main

import (
	"fmt"

	"github.com/millrace/millrace/internal/analytics"
)

func queryTypesPage(string) (string, error) {
	d := newDocument("Query types", "`internal/analytics/catalog*.go`")
	d.paragraph("What can be asked with `POST /v1/query`, by name in `parameters`. The same table\n" +
		"answers `GET /v1/query/types`, validates requests and makes the SQL.")
	for i := range analytics.Catalog {
		describe(d, &analytics.Catalog[i])
	}
	return d.String(), nil
}

func describe(d *document, t *analytics.Type) {
	d.heading(t.Name)
	d.paragraph(t.Description)
	facts := "Category: " + t.Category + "."
	if len(t.Aliases) > 0 {
		facts += " Also called " + codes(t.Aliases) + "."
	}
	if len(t.Filters) > 0 {
		facts += " Filters: " + codes(t.Filters) + "."
	}
	if len(t.Sorts) > 0 {
		facts += " Sorted by any of " + codes(t.Sorts) + "."
	}
	switch {
	case t.SingleRow():
		facts += " One row."
	case t.DefaultLimit > 0:
		facts += fmt.Sprintf(" %d rows unless asked otherwise.", t.DefaultLimit)
	}
	if g := t.Granularities(); len(g) > 0 {
		facts += " One row per " + codes(g) + "."
	}
	d.paragraph(facts)
	var rows [][]string
	for _, c := range t.Columns {
		rows = append(rows, []string{code(c.Name), string(c.Type), c.Unit, c.Description, code(c.Example)})
	}
	d.table([]string{"Column", "Type", "Unit", "Meaning", "Example"}, rows)
}
