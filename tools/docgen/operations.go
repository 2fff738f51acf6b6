package main

import (
	"fmt"
	"strings"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/management"
	"github.com/millrace/millrace/internal/api/queryapi"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/tenant/auth"
)

// operationsPage lists the management operations with who may call them, what
// they take and what they answer.
func operationsPage(string) (string, error) {
	resources := management.Resources(management.Deps{})
	doc, err := queryapi.Describe(&httpkit.Site{}, "", resources)
	if err != nil {
		return "", err
	}
	d := newDocument("Management operations", "internal/api/management")
	d.paragraph(
		"Every operation is `POST /rpc/{resource}/{operation}` on the query host, with a JSON object as body and " +
			"`{\"success\":true,\"data\":…,\"requestId\":\"…\"}` as answer; a list also has `pagination`. The same is served " +
			"by every " +
			"installation for people at `/docs` and for machines at `/openapi.json`. How calls are made is told in " +
			"[the guide](../guides/calling-the-management-api.md).")
	d.heading("Who may call")
	d.paragraph("Each operation is of one class, which says what role a signed-in person needs in the organization, " +
		"and which scopes open " +
		"it to an API key. A role includes those below it: " + roles() + ".")
	d.table([]string{"Class", "People", "API keys", "For"}, classes())
	for _, s := range doc.Reference(resources) {
		d.heading(s.Name)
		d.paragraph(s.Summary)
		for i := range s.Entries {
			d.entry(&s.Entries[i])
		}
	}
	return d.String(), nil
}

func roles() string {
	names := make([]string, len(auth.Roles))
	for i, r := range auth.Roles {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}

func classes() [][]string {
	var rows [][]string
	for i := range auth.Classes {
		row := &auth.Classes[i]
		rows = append(rows, []string{string(row.Class), rpc.People(row), rpc.KeysOf(row), row.Means})
	}
	return rows
}

// entry writes one operation.
func (d *document) entry(e *rpc.Entry) {
	fmt.Fprintf(d, "\n### %s\n", e.Path)
	d.paragraph(strings.TrimSpace(e.Summary + ". " + e.Detail))
	var facts []string
	for _, f := range e.Facts {
		facts = append(facts, f.Name+": "+f.Text)
	}
	d.paragraph(strings.Join(facts, " · "))
	d.lines("Takes", e.Input)
	d.lines("Answers", e.Output)
}

func (d *document) lines(title string, lines []rpc.Line) {
	if len(lines) == 0 {
		return
	}
	rows := make([][]string, len(lines))
	for i, l := range lines {
		what := l.Type
		if l.Required && title == "Takes" {
			what += ", required"
		}
		rows[i] = []string{code(l.Name), what, strings.Trim(l.Rule+". "+l.Doc, ". ")}
	}
	d.table([]string{title, "Type", "Rule"}, rows)
}
