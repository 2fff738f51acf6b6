package main

import (
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/management"
	"github.com/millrace/millrace/internal/api/queryapi"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

const operationsSource = "`internal/api/management`"

// operationPages returns the index of the management operations, and a page per resource.
func operationPages() (map[string]string, error) {
	resources := management.Resources(management.Deps{})
	doc, err := queryapi.Describe(&httpkit.Site{}, "", resources)
	if err != nil {
		return nil, err
	}
	sections := doc.Reference(resources)
	shared := sharedInputs(sections)
	pages := map[string]string{index: operationsIndex(resources, shared)}
	for i := range sections {
		pages[sections[i].Name+".md"] = resourcePage(&sections[i], shared)
	}
	return pages, nil
}

func operationsIndex(resources []rpc.Resource, shared []rpc.Line) string {
	d := newDocument("Management operations", operationsSource)
	d.paragraph("The management API of the query host, with a page per resource. Every installation serves the same\n" +
		"reference at `/docs`, and an OpenAPI document at `/openapi.json`. For examples, see\n" +
		"[Calling the management API](../../guides/calling-the-management-api.md).")
	d.heading("Calls and responses")
	d.paragraph("Every call is `POST /rpc/{resource}/{operation}` with a JSON object as its body. A successful call\n" +
		"returns status 200, or 201 if it creates a record:")
	d.paragraph("```json\n{\"success\": true, \"data\": {}, \"requestId\": \"…\"}\n```")
	d.paragraph("The pages list the fields of `data`. If an operation lists no response fields, `data` is an empty\n" +
		"object. A list operation returns an array in `data`, and a `pagination` object with `limit`,\n" +
		"`hasMore` and `nextCursor`. A failed call returns one of the [error codes](../errors.md).")
	d.paragraph("Objects have the names that the OpenAPI document gives them.")
	d.heading("Common fields")
	d.paragraph("Many operations accept these optional fields. The pages list them by name only.")
	d.fields("Request field", shared, nil)
	d.heading("Defaults")
	d.paragraph("The [rate limit](../limits.md#requests) of an operation is `" + usualLimit + "` unless its page names\n" +
		"another one. An operation with an audit action writes an audit entry. It also accepts an\n" +
		"`Idempotency-Key` header, unless its class is public or it streams its response.")
	d.heading("Classes")
	d.paragraph("The class of an operation defines the role that a signed-in user needs in the organization, and the\n" +
		"scopes that an API key needs. Each role includes the roles before it: " + roles() + ".")
	d.table([]string{"Class", "People", "API keys", "For"}, classes())
	d.heading("Operations")
	for i := range resources {
		r := &resources[i]
		page := r.Name + ".md"
		d.subheading("[" + r.Name + "](" + page + ")")
		d.paragraph(r.Summary)
		var rows [][]string
		for j := range r.Operations {
			o := &r.Operations[j]
			rows = append(rows, []string{
				entryLink(o.Name, page, rpc.Path(r.Name, o.Name)), string(o.Class), o.Summary,
			})
		}
		d.table([]string{"Operation", "Class", "Does"}, rows)
	}
	return d.String()
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

// entryLink links a name to a heading of another page.
func entryLink(name, page, heading string) string {
	return "[" + code(name) + "](" + page + "#" + anchor(heading) + ")"
}

// usualLimit is the family of rate limits that the pages leave out.
var usualLimit = ratelimit.Manage.String()

// sharedBy is the number of resources from which on a request field is explained in the index.
const sharedBy = 5

// sharedInputs returns the optional request fields that are the same in many resources.
func sharedInputs(sections []rpc.Section) []rpc.Line {
	in := map[rpc.Line][]string{}
	var shared []rpc.Line
	for i := range sections {
		for j := range sections[i].Entries {
			for _, l := range sections[i].Entries[j].Input {
				if l.Required || strings.Contains(l.Name, ".") || slices.Contains(in[l], sections[i].Name) {
					continue
				}
				if in[l] = append(in[l], sections[i].Name); len(in[l]) == sharedBy {
					shared = append(shared, l)
				}
			}
		}
	}
	slices.SortFunc(shared, func(a, b rpc.Line) int { return strings.Compare(a.Name, b.Name) })
	return shared
}

func resourcePage(s *rpc.Section, shared []rpc.Line) string {
	d := newDocument(s.Name, operationsSource)
	d.paragraph(s.Summary + " See [Management operations](" + index + ") for how to call them.")
	objects := collect(s)
	for i := range s.Entries {
		e := &s.Entries[i]
		d.heading(e.Path)
		d.paragraph(strings.TrimSpace(e.Summary + ". " + e.Detail))
		d.paragraph(strings.Join(facts(e), " · "))
		d.request(e.Input, shared, objects)
		d.response(e, objects)
	}
	if names := objects.sections(); len(names) > 0 {
		d.heading("Objects")
		for _, name := range names {
			d.subheading(name)
			d.fields("Field", objects.fields[name], objects)
		}
	}
	return d.String()
}

// facts returns what differs from the defaults of the index.
func facts(e *rpc.Entry) []string {
	var all []string
	for _, f := range e.Facts {
		if f.Name != "Idempotency-Key" && (f.Name != "Limit" || f.Text != usualLimit) {
			all = append(all, f.Name+": "+f.Text)
		}
	}
	return all
}

func (d *document) request(lines, shared []rpc.Line, objects *objects) {
	var own []rpc.Line
	var common []string
	for _, l := range lines {
		if slices.Contains(shared, l) {
			common = append(common, code(l.Name))
			continue
		}
		own = append(own, l)
	}
	d.fields("Request field", own, objects)
	if len(common) > 0 {
		d.paragraph("[Common fields](" + index + "#common-fields): " + strings.Join(common, ", "))
	}
}

func (d *document) response(e *rpc.Entry, objects *objects) {
	switch {
	case objects.section(e.Returns) && e.Many:
		d.paragraph("Returns a list of " + objectLink(e.Returns) + ".")
	case objects.section(e.Returns):
		d.paragraph("Returns " + objectLink(e.Returns) + ".")
	default:
		d.fields("Response field", relative(e.Output, dataOf(e)), objects)
	}
}

// fields writes a table of fields. Objects with a section of their own are links.
func (d *document) fields(title string, lines []rpc.Line, objects *objects) {
	var rows [][]string
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		what := l.Type
		if l.Required && title == "Request field" {
			what += ", required"
		}
		if objects.section(l.Object) {
			what = strings.Replace(what, "object", objectLink(l.Object), 1)
			i += len(nested(lines[i:]))
		}
		rows = append(rows, []string{code(l.Name), what, strings.Trim(l.Rule+". "+l.Doc, ". ")})
	}
	if len(rows) > 0 {
		d.table([]string{title, "Type", "Rule"}, rows)
	}
}

func objectLink(name string) string { return "[" + name + "](#" + anchor(name) + ")" }
