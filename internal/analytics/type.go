package analytics

import (
	"cmp"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/platform/fair"
)

// SubjectKind is what a question is about.
type SubjectKind uint8

// The subjects. A type may be asked of several.
const (
	Website SubjectKind = 1 << iota
	Organization
	Link

	// AnySubject is one of which nothing is known, to look at a request that names what
	// is not there.
	AnySubject = Website | Organization | Link
)

// namedBy says how to name the subjects that are in a set.
func namedBy(subjects SubjectKind) string {
	var names []string
	for _, s := range []struct {
		kind SubjectKind
		name string
	}{{Website, "website_id"}, {Organization, "organization_id"}, {Link, "link_id"}} {
		if subjects&s.kind != 0 {
			names = append(names, s.name)
		}
	}
	return "Ask with " + strings.Join(names, " or ")
}

// Subject is the owner of the events, or the link of the clicks, that a question is about.
type Subject struct {
	Kind SubjectKind
	ID   string
	// Organization is whose it is, of a website or a link, which share turns with the
	// others of theirs; empty for one that shares none.
	Organization string

	// left and came are websites of an organization that were moved; see Organized.
	left, came string
}

// owner is whose turn it is when the subject is asked about.
func (s Subject) owner() fair.Owner {
	return fair.Owner{Tenant: cmp.Or(s.Organization, s.ID), Name: s.ID}
}

// ColumnType is how a column's values look in a response.
type ColumnType string

// The column types.
const (
	String   ColumnType = "string"
	Number   ColumnType = "number"
	Datetime ColumnType = "datetime" // RFC 3339 in UTC, with milliseconds
	JSON     ColumnType = "json"     // an object or an array, inline
	Boolean  ColumnType = "boolean"
)

// Column is one column of a type's response.
type Column struct {
	Name        string
	Type        ColumnType
	Label       string
	Unit        string // "percent" is 0 to 100; empty for counts and text
	Description string
	Example     string
	// Expr is its SQL over the type's source, owned by us.
	Expr string
	// Order is what rows are sorted by, over the type's source, where the value itself
	// would put them in another order; empty for the value.
	Order string
	// Show makes of a text what the response shows; nil shows it as it is.
	Show func(string) string
	// Personal columns tell one visitor from others. They are empty to whom a type is
	// told only because it is public.
	Personal bool
}

// unlessPublic ends the description of a column that is Personal.
const unlessPublic = "; empty for callers who can query only public types."

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
	// Sorts are the columns a response may be sorted by; none for a response of one
	// row.
	Sorts []string
	// DefaultLimit is how many rows a response has when the request does not say.
	DefaultLimit int
	// Scope is the scope that a caller needs, by its name in specification 5.3. Catalog
	// sets it.
	Scope string
	// Public types may be asked of public websites without a credential.
	Public bool
	// Series types have a row per bucket of the range; their first column is the
	// bucket's label.
	Series bool

	// Recent types are about the time before the question, whatever range it names;
	// 0 for others. Today's are about the current day. Neither is ever cached.
	Recent time.Duration
	Today  bool
	// Requires names filters without which the type means nothing.
	Requires []string
	// Means are fields that mean something else to the type than to others.
	Means []Field
	// Measures are the columns that filters may compare, besides Filters: numbers
	// that only exist once rows were counted.
	Measures []string
	// Groups are the fields that groupBy may name.
	Groups []string
	// Options are what a parameter object may say for this type alone.
	Options []Option
	// Lists are latest things, not counts: there is nothing to compare with another
	// period.
	Lists bool

	// Table holds what the type is about; empty for events. Its rows have the
	// identity of events, and are read as theirs are: e.name, e.event_time and so on.
	Table string
	// Reads are the tables that Columns read besides, such as events where {all events}
	// stands in them.
	Reads []string
	// From makes the rows of which Columns, GroupBy, Keep and Tie speak; nil for a
	// row per event, called e.
	From *Source
	// Where restricts the events, GroupBy makes rows of them; Keep drops rows after
	// shares were computed over all of them.
	Where   string
	GroupBy string
	Keep    string
	// OrderBy is the default order; Tie makes every order total.
	OrderBy string
	Desc    bool
	Tie     string

	// Rollup says how the type is answered without reading every event; nil when it
	// cannot be.
	Rollup *Rollup

	groups []Column // those of a question: see grouped
}

// OptionKind is what an option's value is.
type OptionKind string

// The kinds of options.
const (
	OptionText    OptionKind = "text"
	OptionInteger OptionKind = "integer"
	OptionMoment  OptionKind = "moment"  // an end of time: a day, included, or a moment, excluded
	OptionNumbers OptionKind = "numbers" // one number or several
	OptionSteps   OptionKind = "steps"   // places in a funnel: see Source
)

// Option is an input of a type. Its value is the parameter option_<name> of the
// statement, but for steps, which are conditions.
type Option struct {
	Name     string
	Kind     OptionKind
	Required bool
	// Filter tells that a filter with eq may give it as well.
	Filter bool
	// Default is used where the caller says nothing; empty for none.
	Default string
	// Min and Max bound a number, the count of numbers' values or of steps, or the length of a text in code points.
	Min, Max int
	// Least and Most bound each of several numbers, where Most is not 0.
	Least, Most float64
	// OneOf are the only texts, or whole numbers, that are taken; none for any.
	OneOf []string
	Doc   string
	// Example is a value as JSON. A required option has one.
	Example string
}

// SingleRow reports whether a response always has exactly one row, so that
// sorting and paging mean nothing to it.
func (t *Type) SingleRow() bool { return !t.Series && t.OrderBy == "" }

// Granularities returns the spellings of buckets that the type can be cut into.
func (t *Type) Granularities() []string {
	if !t.Series || t.ownRange() {
		return []string{}
	}
	return GranularityNames()
}

// tables are those whose rows decide about a response.
func (t *Type) tables() []string {
	all := append([]string{cmp.Or(t.Table, tableEvents)}, t.Reads...)
	if t.From != nil {
		all = append(all, t.From.Tables...)
	}
	return all
}

// ownRange reports whether the type is about a time of its own, whatever range the
// request names.
func (t *Type) ownRange() bool { return t.Today || t.Recent > 0 }

// rangeAt is that time.
func (t *Type) rangeAt(now time.Time, zone *time.Location) Range {
	if t.Today {
		today, _ := PresetRange("today", now, zone)
		return today
	}
	now = now.Truncate(time.Millisecond)
	return Range{Start: now.Add(-t.Recent), End: now.Add(time.Millisecond), Zone: zone}
}

// Example is the body of a question of the type over a preset, as small as it can be:
// with the options and the filters without which the type means nothing.
func (t *Type) Example(preset string) string {
	members := []string{`"name":"` + t.Name + `"`}
	for _, o := range t.Options {
		if o.Required {
			members = append(members, `"`+o.Name+`":`+o.Example)
		}
	}
	filters := make([]string, len(t.Requires))
	for i, name := range t.Requires {
		filters[i] = `{"field":"` + name + `","op":"eq","value":"x"}`
	}
	return `{"parameters":[{` + strings.Join(members, ",") + `}],"preset":"` + preset + `","filters":[` +
		strings.Join(filters, ",") + `]}`
}
