package analytics

import (
	"slices"
	"strings"
)

// grouped returns the type whose rows are cut by fields too, each a column before
// the type's own; after the date in a series. A type of one row becomes one of a
// row per value, those with the most of its first number first. A session counts
// for every value that its events have.
func (t *Type) grouped(fields []string) *Type {
	if t == nil || len(fields) == 0 {
		return t
	}
	g := *t
	for _, name := range fields {
		f := findField(name)
		g.groups = append(g.groups,
			Column{Name: f.Name, Type: String, Label: f.Name, Description: f.Doc, Expr: asGroup(f.expr)})
	}
	at := 0
	if t.Series {
		at = 1
	}
	own := slices.DeleteFunc(slices.Clone(t.Columns[at:]), func(c Column) bool {
		return slices.ContainsFunc(g.groups, func(group Column) bool { return group.Name == c.Name })
	})
	g.Columns = slices.Concat(t.Columns[:at], g.groups, own)
	if t.SingleRow() {
		g.OrderBy, g.Desc, g.DefaultLimit = firstNumber(own), true, DefaultLimit
		for _, c := range own {
			if c.Type == Number {
				g.Sorts = append(g.Sorts, c.Name)
			}
		}
	}
	return &g
}

// asGroup is the SQL of a column of a group, whose values are texts whatever the field's are.
func asGroup(expr string) string { return "CAST(" + expr + ", 'String')" }

func firstNumber(columns []Column) string {
	return columns[slices.IndexFunc(columns, func(c Column) bool { return c.Type == Number })].Name
}

// groupedBy are the expressions that rows of the type are grouped by.
func (t *Type) groupedBy() []string {
	if t.GroupBy == "" {
		return nil
	}
	return topLevel(t.GroupBy)
}

// topLevel splits SQL of ours at the commas that stand in no parentheses.
func topLevel(sql string) []string {
	var all []string
	depth, from := 0, 0
	for i, c := range sql {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				all, from = append(all, strings.TrimSpace(sql[from:i])), i+1
			}
		}
	}
	return append(all, strings.TrimSpace(sql[from:]))
}

// ties make the order of the rows total.
func (q *query) ties() []string {
	tie := q.typ.Tie
	if q.plan.rollup {
		tie = q.typ.Rollup.Tie
	}
	all := parts(tie)
	for _, g := range q.typ.groups {
		all = append(all, g.Name)
	}
	return all
}

// parts are the texts that are not empty.
func parts(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

func joined(texts ...string) string { return strings.Join(parts(texts...), ", ") }

// groupsOf names what rows of a table can be cut by: the texts that several visitors
// share.
func groupsOf(table string) []string {
	return slices.DeleteFunc(fieldsOf(table, "anonymous_id", "session_id"),
		func(name string) bool { return findField(name).Kind != TextField })
}

// visitorGroups are what all that a visitor does can be cut by: where it is from, and
// what it is seen with.
var visitorGroups = []string{
	"website_id", "host", "browser_name", "os_name", "device_type", "country", "region", "city", "language", "timezone",
	"referrer_domain", "referrer_type", "referrer_name", "utm_source", "utm_medium", "utm_campaign", "utm_term",
	"utm_content",
}
