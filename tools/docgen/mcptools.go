package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/httpkit/mcp"
	"github.com/millrace/millrace/internal/api/ingestapi"
	"github.com/millrace/millrace/internal/api/management"
	"github.com/millrace/millrace/internal/api/queryapi"
	"github.com/millrace/millrace/internal/api/queryapi/tools"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// mcpToolsPage lists the tools of the MCP endpoints.
func mcpToolsPage(string) (string, error) {
	doc, err := queryapi.Describe(&httpkit.Site{}, "", management.Resources(management.Deps{}))
	if err != nil {
		return "", err
	}
	table, err := tools.Table(doc)
	if err != nil {
		return "", err
	}
	d := newDocument("MCP tools", "`internal/api/queryapi/tools` and `internal/api/ingestapi/tools.go`")
	d.paragraph("The tools for AI clients, with their arguments. A key sees the tools of its scopes. Calls per minute\n" +
		"count for each key; the tools of a class share them. [MCP](../guides/mcp.md) shows how to connect a client.")
	for _, host := range []struct {
		name, path string
		tools      []mcp.Tool
	}{{"Query host", queryapi.MCPPath, table}, {"Ingestion host", ingestapi.MCPPath, ingestapi.Tools()}} {
		d.heading(host.name + ": `POST " + host.path + "`")
		for i := range host.tools {
			if err := mcpTool(d, &host.tools[i]); err != nil {
				return "", fmt.Errorf("describing %s: %w", host.tools[i].Name, err)
			}
		}
	}
	return d.String(), nil
}

// mcpTool describes a tool.
func mcpTool(d *document, t *mcp.Tool) error {
	d.subheading(code(t.Name))
	d.paragraph(t.Description)
	scopes := make([]string, len(t.Scopes))
	for i, s := range t.Scopes {
		scopes[i] = code(string(s))
	}
	limit := "Limits: those of all messages, and of the route that stores the events"
	if t.Class != ratelimit.MCP {
		family := ratelimit.Families[t.Class]
		limit = "Class: " + code(family.Name) + ", " + strconv.Itoa(family.Fixed) + " calls a minute"
	}
	items := []string{
		"Scope: " + strings.Join(scopes, " or ") + map[bool]string{true: ", for the whole organization"}[t.Global],
		limit,
	}
	if t.Preview != nil {
		items = append(items, "Confirmation: [before it overwrites, deletes or switches a record]"+
			"(../guides/mcp.md#changes-are-confirmed)")
	}
	d.items(items)
	var schema struct {
		Required   []string `json:"required"`
		Properties map[string]struct {
			Type        any    `json:"type"`
			Description string `json:"description"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(t.Input, &schema); err != nil {
		return err
	}
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		p := schema.Properties[name]
		kind, _ := p.Type.(string)
		if several, ok := p.Type.([]any); ok {
			kind = fmt.Sprint(several[0], " or ", several[1])
		}
		required := ""
		if slices.Contains(schema.Required, name) {
			required = "yes"
		}
		rows = append(rows, []string{code(name), kind, required, p.Description})
	}
	if len(rows) > 0 {
		d.table([]string{"Argument", "Type", "Required", "Meaning"}, rows)
	}
	return nil
}
