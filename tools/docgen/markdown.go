package main

import (
	"fmt"
	"strings"
	"unicode"
)

// document is a page in the making.
type document struct{ strings.Builder }

// newDocument begins a page. Source names the table that it is made from.
func newDocument(title, source string) *document {
	d := &document{}
	fmt.Fprintf(d, "<!-- Generated from %s by `make generate`. Do not edit. -->\n\n# %s\n", source, title)
	return d
}

func (d *document) paragraph(text string) { fmt.Fprintf(d, "\n%s\n", text) }

func (d *document) heading(text string) { fmt.Fprintf(d, "\n## %s\n", text) }

func (d *document) subheading(text string) { fmt.Fprintf(d, "\n### %s\n", text) }

// items writes a list.
func (d *document) items(list []string) {
	d.WriteString("\n- " + strings.Join(list, "\n- ") + "\n")
}

// table writes a table; a bar inside a cell is escaped.
func (d *document) table(head []string, rows [][]string) {
	d.WriteString("\n")
	d.row(head)
	d.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, r := range rows {
		d.row(r)
	}
}

func (d *document) row(cells []string) {
	for _, c := range cells {
		d.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
	}
	d.WriteString("|\n")
}

// code marks a text as literal; an empty one stays empty.
func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// codes marks each of several texts as literal.
func codes(list []string) string {
	marked := make([]string, len(list))
	for i, s := range list {
		marked[i] = code(s)
	}
	return strings.Join(marked, ", ")
}

// index is the name of a section's first page.
const index = "README.md"

// anchor returns the fragment that links to a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case strings.ContainsRune("/.`:,()", r):
			return -1
		}
		return unicode.ToLower(r)
	}, heading)
}
