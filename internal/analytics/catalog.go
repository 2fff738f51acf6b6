package analytics

import (
	"slices"
	"strings"
	"sync"
)

// SubjectKind is what a question is about.
type SubjectKind uint8

// The subjects. A type may be asked of several.
const (
	Website SubjectKind = 1 << iota
	Organization
)

// Subject is the owner of the events that a question is about.
type Subject struct {
	Kind SubjectKind
	ID   string
}

// ColumnType is how a column's values look in an answer.
type ColumnType string

// The column types.
const (
	String   ColumnType = "string"
	Number   ColumnType = "number"
	Datetime ColumnType = "datetime" // RFC 3339 in UTC, with milliseconds
	JSON     ColumnType = "json"     // an object, inline
)

// Column is one column of a type's answer.
type Column struct {
	Name        string
	Type        ColumnType
	Label       string
	Unit        string // "percent" is 0 to 100; empty for counts and text
	Description string
	Example     string
	// Expr is its SQL over the type's source, owned by us.
	Expr string
}

// Source is what a type's expressions are evaluated over.
type Source uint8

const (
	// FromEvents means one row per event, columns as e.name, e.path and so on.
	FromEvents Source = iota
	// FromSessions means one row per session, plus one with an empty session for
	// the events that carry none: see sessionColumns.
	FromSessions
)

// Type describes one query type. A type is data: adding one is an entry in
// Catalog and a golden file.
type Type struct {
	Name     string
	Aliases  []string
	Subjects SubjectKind // bit set
	Title    string
	// Description is one sentence, shown by GET /v1/query/types.
	Description   string
	Category      string
	Tags          []string
	Visualization string
	Columns       []Column
	Filters       []string // names of Fields
	// Sorts are the columns an answer may be sorted by; none for an answer of one
	// row.
	Sorts []string
	// DefaultLimit is how many rows an answer has when the request does not say.
	DefaultLimit int
	// Public types may be asked of public websites without a credential.
	Public bool
	// Series types have a row per bucket of the range; their first column is the
	// bucket's label.
	Series bool

	// From, Where, GroupBy and Having are SQL of ours. Where restricts the
	// events; Keep drops rows after shares were computed over all of them.
	From    Source
	Where   string
	GroupBy string
	Keep    string
	// OrderBy is the default order; Tie makes every order total.
	OrderBy string
	Desc    bool
	Tie     string
}

// SingleRow reports whether an answer always has exactly one row, so that
// sorting and paging mean nothing to it.
func (t *Type) SingleRow() bool { return !t.Series && t.OrderBy == "" }

// Granularities returns the spellings of buckets that the type can be cut into.
func (t *Type) Granularities() []string {
	if !t.Series {
		return []string{}
	}
	return []string{"hour", "day"}
}

// Catalog lists every query type, grouped by category, in the order in which
// GET /v1/query/types shows them.
var Catalog = slices.Concat(summaryTypes, pageTypes, customEventTypes)

var byName = sync.OnceValue(func() map[string]*Type {
	m := map[string]*Type{}
	for i := range Catalog {
		t := &Catalog[i]
		m[t.Name] = t
		for _, a := range t.Aliases {
			m[a] = t
		}
	}
	return m
})

// Lookup returns the type of that name or alias; nil when there is none.
func Lookup(name string) *Type { return byName()[name] }

// suggestType returns a sentence for a name that no type has.
func suggestType(name string) string {
	var names []string
	for i := range Catalog {
		names = append(append(names, Catalog[i].Name), Catalog[i].Aliases...)
	}
	return didYouMean(name, names)
}

// column returns the column of that name; nil when there is none.
func (t *Type) column(name string) *Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}
	return nil
}

func supportedFilters(t *Type) string {
	if len(t.Filters) == 0 {
		return t.Name + " supports no filters"
	}
	return "Supported filters: " + strings.Join(t.Filters, ", ")
}

func supportedSorts(t *Type) string {
	return "Supported sort fields: " + strings.Join(t.Sorts, ", ")
}
