package tools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/httpkit/mcp"
	"github.com/millrace/millrace/internal/platform/suggest"
)

// maxDescribed is how many types one call describes in full.
const maxDescribed = 10

// briefType is a query type in a list.
type briefType struct {
	Name        string `json:"name"`
	Category    string `json:"category"`
	Description string `json:"description"`
	*fullType
}

// fullType is the rest of a query type.
type fullType struct {
	About            []string     `json:"about"`
	Columns          []column     `json:"columns"`
	Filters          []string     `json:"filters,omitempty"`
	RequiredFilters  []string     `json:"requiredFilters,omitempty"`
	Measures         []string     `json:"filterableColumns,omitempty"`
	Sorts            []string     `json:"sortBy,omitempty"`
	Groups           []string     `json:"groupBy,omitempty"`
	Granularities    []string     `json:"granularity,omitempty"`
	Options          []typeOption `json:"options,omitempty"`
	SupportsCompare  bool         `json:"compare"`
	DefaultRows      int          `json:"defaultRows"`
	OtherNames       []string     `json:"aliases,omitempty"`
	IgnoresTimeRange bool         `json:"ignoresRange,omitempty"`
}

type column struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Unit        string `json:"unit,omitempty"`
	Description string `json:"description"`
}

type typeOption struct {
	Name        string   `json:"name"`
	Kind        string   `json:"kind"`
	Required    bool     `json:"required,omitempty"`
	Default     string   `json:"default,omitempty"`
	OneOf       []string `json:"oneOf,omitempty"`
	Description string   `json:"description"`
}

// subjects are what a type can be about, by the argument that names it.
var subjects = []struct {
	kind analytics.SubjectKind
	name string
}{{analytics.Website, "website"}, {analytics.Organization, "organization"}, {analytics.Link, "link"}}

func describe(t *analytics.Type) *fullType {
	f := &fullType{
		Filters: slices.Concat(t.Filters, t.FilterOptions()), RequiredFilters: t.Requires, Measures: t.Measures,
		Sorts: t.Sorts, Groups: t.Groups, Granularities: t.Granularities(), SupportsCompare: t.Comparable(),
		DefaultRows: t.DefaultLimit, OtherNames: t.Aliases, IgnoresTimeRange: t.Recent > 0,
	}
	for _, s := range subjects {
		if t.Subjects&s.kind != 0 {
			f.About = append(f.About, s.name)
		}
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		f.Columns = append(f.Columns, column{c.Name, string(c.Type), c.Unit, c.Description})
	}
	for i := range t.Options {
		o := &t.Options[i]
		f.Options = append(f.Options, typeOption{o.Name, string(o.Kind), o.Required, o.Default, o.OneOf, o.Doc})
	}
	return f
}

// listTypes lists the query types of the catalogue.
func listTypes(c *call) (mcp.Answer, error) {
	var found []briefType
	names, _ := c.args["names"].([]any)
	for i, n := range names {
		name, _ := n.(string)
		t := analytics.Lookup(name)
		if t == nil {
			return mcp.Answer{}, unknownType(i, name)
		}
		found = append(found, briefType{t.Name, t.Category, t.Description, describe(t)})
	}
	if len(names) == 0 {
		found = search(c.text("category"), c.text("search"))
	}
	answer := mcp.Answer{Rows: func(n int) mcp.Page {
		shown := found[:min(n, len(found))]
		if shown == nil {
			shown = []briefType{}
		}
		return mcp.Page{Data: shown, Count: len(shown), Truncated: len(shown) < len(found)}
	}}
	if len(names) == 0 {
		answer.Hints = []string{"Call list_query_types with names to see the columns, filters and options of these types."}
	}
	return answer, nil
}

// search returns the types of a category, whose name, title or description has a text.
func search(category, text string) (found []briefType) {
	text = strings.ToLower(text)
	for i := range analytics.Catalog {
		t := &analytics.Catalog[i]
		if category != "" && !strings.EqualFold(category, t.Category) ||
			!strings.Contains(strings.ToLower(t.Name+"\n"+t.Title+"\n"+t.Description), text) {
			continue
		}
		found = append(found, briefType{Name: t.Name, Category: t.Category, Description: t.Description})
	}
	return found
}

func unknownType(i int, name string) error {
	d := mcp.Detail{Field: fmt.Sprintf("names[%d]", i), Message: fmt.Sprintf("Unknown query type: %.64s", name)}
	var names []string
	for i := range analytics.Catalog {
		names = append(names, analytics.Catalog[i].Name)
	}
	if near := suggest.Closest(name, names); near != "" {
		d.Suggestion = "Did you mean '" + near + "'?"
	}
	return &mcp.Error{Code: mcp.InvalidInput, Message: d.Message, Details: []mcp.Detail{d}}
}
