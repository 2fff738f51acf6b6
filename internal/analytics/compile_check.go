package analytics

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/platform/timezone"
)

// types looks the parameters up; nil stands for an unknown one.
func (c *compiler) types() []*Type {
	params := c.request.Parameters
	switch {
	case len(params) == 0:
		c.add("parameters", "too_few", "At least one parameter is required", "")
	case len(params) > MaxParameters:
		c.problems = append(c.problems, tooMany(c.prefix+"parameters", "parameters", len(params), MaxParameters))
		return nil
	}
	types := make([]*Type, len(params))
	for i := range params {
		name := params[i].Name
		t := Lookup(name)
		switch {
		case t == nil:
			c.add(fmt.Sprintf("parameters[%d]", i), "unknown_type", "Unknown query type: "+echo(name), suggestType(name))
		case t.Subjects&c.env.Subject.Kind == 0:
			c.add(fmt.Sprintf("parameters[%d]", i), "unsupported_subject",
				"Query type "+name+" does not support this subject", namedBy(t.Subjects))
		default:
			types[i] = t
		}
	}
	return types
}

func (c *compiler) loadZone() {
	field, name := "timeZone", c.request.TimeZone
	if name == "" {
		field, name = "timezone", c.env.TimeZone
	}
	zone, err := timezone.Load(name)
	if err != nil {
		c.add(field, "unknown_timezone", "Invalid timezone: "+echo(name), "Use an IANA name such as 'Europe/Berlin'")
		zone = time.UTC
	}
	c.zone = zone
}

func (c *compiler) checkFilters(types []*Type) {
	c.problems = append(c.problems, checkFilters(c.prefix+"filters", c.request.Filters, types)...)
	for _, t := range distinctTypes(types) {
		for _, name := range t.Requires {
			if !pins(c.request.Filters, name) {
				c.add("filters", "required", fmt.Sprintf("%s requires a filter by %s", t.Name, name),
					`Add {"field":"`+name+`","op":"eq","value":"…"}`)
			}
		}
	}
}

// checkGroupBy checks what the responses are to be cut by.
func (c *compiler) checkGroupBy(types []*Type) {
	groups := c.request.GroupBy
	if len(groups) > MaxGroups {
		c.problems = append(c.problems, tooMany(c.prefix+"groupBy", "groups", len(groups), MaxGroups))
		return
	}
	for i, g := range groups {
		field := findField(g)
		if slices.ContainsFunc(groups[:i],
			func(other string) bool { return other == g || field != nil && findField(other) == field }) {
			c.add("groupBy", "duplicate", echo(g)+" must be given only once", "")
		}
		for _, t := range distinctTypes(types) {
			if field == nil || !slices.Contains(t.Groups, field.Name) {
				c.add("groupBy", "unsupported_group",
					fmt.Sprintf("Grouping by %s is not supported by %s", echo(g), t.Name), supportedGroups(t))
			}
		}
	}
}

func (c *compiler) checkSort(types []*Type) {
	r := c.request
	if r.SortOrder != "" && r.SortOrder != "asc" && r.SortOrder != "desc" {
		c.add("sortOrder", "unknown_order", "Invalid sortOrder: "+echo(r.SortOrder), "Use 'asc' or 'desc'")
	}
	if r.SortBy == "" && r.SortOrder == "" {
		return
	}
	field, asked := "sortBy", r.SortBy
	if r.SortBy == "" {
		field, asked = "sortOrder", r.SortOrder
	}
	sortable, single := 0, ""
	for _, t := range distinctTypes(types) {
		if t.SingleRow() { // one row is in order, whatever the order
			single = t.Name
			continue
		}
		sortable++
		if r.SortBy != "" && !slices.Contains(t.Sorts, r.SortBy) {
			c.add("sortBy", "unsupported_sort",
				fmt.Sprintf("Sorting by %s is not supported by %s", echo(r.SortBy), t.Name), supportedSorts(t))
		}
	}
	if sortable == 0 && single != "" {
		c.add(field, "unsupported_sort",
			fmt.Sprintf("Sorting by %s is not supported by %s", echo(asked), single), single+" returns a single row")
	}
}

// distinctTypes returns the types that are known, each once.
func distinctTypes(types []*Type) []*Type {
	return slices.DeleteFunc(distinct(types), func(t *Type) bool { return t == nil })
}

// distinct returns each of some values once, in the order of their first.
func distinct[T comparable](values []T) []T {
	var all []T
	for _, v := range values {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}
