package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/analytics"
)

const queryTypesSource = "`internal/analytics/catalog*.go`"

// fieldSet is a list of fields that the index explains once for many types.
type fieldSet struct {
	title string
	like  string // the type whose list it is
}

// filterSets and groupSets are the sets of fields that types filter and group by.
var (
	filterSets = []fieldSet{
		{"Event filters", "summary_metrics"},
		{"Page view filters", "top_pages"},
		{"Measurement filters", "vitals_overview"},
		{"Error filters", "recent_errors"},
		{"Click filters", "link_clicks_by_day"},
	}
	groupSets = []fieldSet{
		{"Event groups", "summary_metrics"},
		{"Visit groups", "page_performance"},
		{"Measurement groups", "vitals_overview"},
		{"Error groups", "errors_by_type"},
	}
)

func filtersOf(t *analytics.Type) []string {
	return slices.Concat(t.Filters, t.Measures, t.FilterOptions())
}

func groupsOf(t *analytics.Type) []string { return t.Groups }

// queryTypePages returns the index of the query types, and a page per category.
func queryTypePages() (map[string]string, error) {
	byCategory := map[string]*document{}
	for i := range analytics.Catalog {
		t := &analytics.Catalog[i]
		name := categoryPage(t)
		d := byCategory[name]
		if d == nil {
			d = newDocument("Query types: "+t.Category, queryTypesSource)
			d.paragraph("See [Query types](" + index + ") for what all types have in common.")
			byCategory[name] = d
		}
		if err := describe(d, t); err != nil {
			return nil, err
		}
	}
	text, err := queryTypesIndex()
	pages := map[string]string{index: text}
	for name, d := range byCategory {
		pages[name] = d.String()
	}
	return pages, err
}

func categoryPage(t *analytics.Type) string { return anchor(t.Category) + ".md" }

// usual is the type whose scope, subject and buckets the index describes.
var usual = analytics.Lookup("events_by_date")

func queryTypesIndex() (string, error) {
	d := newDocument("Query types", queryTypesSource)
	d.paragraph("The query types of `POST /v1/query`, with a page per category. `GET /v1/query/types` returns the\n" +
		"same list. The server validates requests and generates SQL from the same table. For the other fields\n" +
		"of a request, see [Query requests](../query-requests.md). For examples, see\n" +
		"[Querying](../../guides/querying.md).")
	d.heading("Types")
	var rows [][]string
	for i := range analytics.Catalog {
		t := &analytics.Catalog[i]
		rows = append(rows, []string{
			entryLink(t.Name, categoryPage(t), t.Name), t.Category, t.Description,
		})
	}
	d.table([]string{"Type", "Category", "Returns"}, rows)
	d.heading("Defaults")
	d.paragraph("The pages state only what differs from these rules:")
	d.items([]string{
		"A caller needs the scope " + code(usual.Scope) + ".",
		"A type marked as public also serves anonymous callers, for public websites.",
		"The subject is a website or an organization, by `website_id` or `organization_id`.",
		fmt.Sprintf("A response has at most %d rows unless the request sets `limit`.", analytics.DefaultLimit),
		"A series has a row per bucket. `granularity` is one of " + codes(usual.Granularities()) + ".",
		"A type without groups does not support `groupBy`.",
		"A type without sort fields does not support `sortBy`.",
	})
	for _, list := range []struct {
		title, before string
		sets          []fieldSet
		of            func(*analytics.Type) []string
	}{
		{
			"Filters", "The fields that `filters` accepts. Each type names one of these sets and further fields.",
			filterSets, filtersOf,
		},
		{"Groups", "The fields that `groupBy` accepts, listed in the same way.", groupSets, groupsOf},
	} {
		d.heading(list.title)
		d.paragraph(list.before)
		for _, set := range list.sets {
			fields, err := set.fields(list.of)
			if err != nil {
				return "", err
			}
			d.subheading(set.title)
			d.paragraph(codes(fields))
		}
	}
	return d.String(), nil
}

func (s fieldSet) fields(of func(*analytics.Type) []string) ([]string, error) {
	t := analytics.Lookup(s.like)
	if t == nil {
		return nil, fmt.Errorf("no type %s for the fields of %s", s.like, s.title)
	}
	return of(t), nil
}

// inSets lists fields as a link to the largest set that is among them, and the rest by name.
func inSets(fields []string, sets []fieldSet, of func(*analytics.Type) []string) (string, error) {
	rest, link := fields, ""
	for _, set := range sets {
		known, err := set.fields(of)
		if err != nil {
			return "", err
		}
		others := slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return slices.Contains(known, f) })
		if len(others)+len(known) == len(fields) && len(others) < len(rest) {
			rest, link = others, fmt.Sprintf("[%s](%s#%s)", strings.ToLower(set.title), index, anchor(set.title))
		}
	}
	if link == "" || len(rest) == 0 {
		return link + codes(rest), nil
	}
	return link + ", " + codes(rest), nil
}

func describe(d *document, t *analytics.Type) error {
	d.heading(t.Name)
	d.paragraph(t.Description)
	filters, err := inSets(filtersOf(t), filterSets, filtersOf)
	if err != nil {
		return err
	}
	groups, err := inSets(t.Groups, groupSets, groupsOf)
	if err != nil {
		return err
	}
	var list []string
	for _, fact := range [][2]string{
		{"Alias", codes(t.Aliases)},
		{"Subject", subject(t)},
		{"Scope", differs(t.Scope, usual.Scope)},
		{"Required filter", codes(t.Requires)},
		{"Filters", filters},
		{"Groups", groups},
		{"Sort fields", codes(t.Sorts)},
		{"Rows", rowsOf(t)},
	} {
		if fact[1] != "" {
			list = append(list, fact[0]+": "+fact[1])
		}
	}
	if t.Public {
		list = append(list, "Public")
	}
	d.items(list)
	describeOptions(d, t)
	var rows [][]string
	for _, c := range t.Columns {
		rows = append(rows, []string{code(c.Name), string(c.Type), c.Unit, c.Description, code(c.Example)})
	}
	d.table([]string{"Column", "Type", "Unit", "Meaning", "Example"}, rows)
	return nil
}

// differs returns a value as code, unless it is the usual one.
func differs(value, usual string) string {
	if value == usual {
		return ""
	}
	return code(value)
}

// subject names what a type is about, unless it is a website or an organization.
func subject(t *analytics.Type) string {
	switch t.Subjects {
	case analytics.Website | analytics.Organization:
		return ""
	case analytics.Website:
		return "a website only, by `website_id`"
	case analytics.Organization:
		return "an organization only, by `organization_id`"
	default:
		return "a short link, by `link_id`"
	}
}

func rowsOf(t *analytics.Type) string {
	switch {
	case t.SingleRow():
		return "one"
	case len(t.Granularities()) > 0:
		return "a series" + atMost(t)
	default:
		return strings.TrimPrefix(atMost(t), ", ")
	}
}

// atMost says how many rows a type returns by default, unless it is the usual number.
func atMost(t *analytics.Type) string {
	if t.DefaultLimit == analytics.DefaultLimit {
		return ""
	}
	return fmt.Sprintf(", at most %d by default", t.DefaultLimit)
}

// describeOptions lists the options of the parameter object that only this type has.
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
