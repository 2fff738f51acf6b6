package schema

import (
	"fmt"
	"strings"
)

// CreateSQL returns the statement that creates the table in the current database unless it
// exists, on every replica of the cluster if one is named.
func (t *Table) CreateSQL(cluster string) string {
	return createSQL("CREATE TABLE IF NOT EXISTS "+t.Name+onCluster(cluster), t.Columns, t.body(cluster))
}

// NullSQL returns the statement that makes a table of the same columns which
// keeps nothing: what the Go side costs can be measured on it.
func (t *Table) NullSQL(name string) string {
	return createSQL("CREATE TABLE IF NOT EXISTS "+name, t.Columns, "ENGINE = Null\n")
}

// CreateSQL returns the statement that makes the view, and does nothing where it
// exists.
func (v *View) CreateSQL(cluster string) string {
	return "CREATE MATERIALIZED VIEW IF NOT EXISTS " + v.Name + onCluster(cluster) + " TO " + v.To +
		" AS\n" + v.Select + "\n"
}

// sql is the column in a statement, its name and type as wide as asked for.
func (c *Column) sql(name, typ int) string {
	line := fmt.Sprintf("%-*s %-*s", name, c.Name, typ, c.Type)
	if c.Alias != "" {
		line += " ALIAS " + c.Alias
	}
	if c.Default != "" {
		line += " DEFAULT " + c.Default
	}
	if c.Codec != "" {
		line += " CODEC(" + c.Codec + ")"
	}
	return strings.TrimRight(line, " ")
}

func createSQL(head string, columns []Column, tail string) string {
	var b strings.Builder
	b.WriteString(head + " (\n")
	name, typ := 0, 0
	for _, c := range columns {
		name, typ = max(name, len(c.Name)), max(typ, len(c.Type))
	}
	for i, c := range columns {
		b.WriteString("    " + c.sql(name, typ))
		if i < len(columns)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString(")\n" + tail)
	return b.String()
}

func (t *Table) body(cluster string) string {
	var b strings.Builder
	engine, settings := t.Engine, t.Settings
	if cluster != "" {
		engine, settings = replicated(engine), replicatedSettings(settings)
	}
	fmt.Fprintf(&b, "ENGINE = %s\n", engine)
	if t.PartitionBy != "" {
		fmt.Fprintf(&b, "PARTITION BY %s\n", t.PartitionBy)
	}
	fmt.Fprintf(&b, "ORDER BY (%s)\n", strings.Join(t.OrderBy, ", "))
	if t.TTL != "" {
		fmt.Fprintf(&b, "TTL %s\n", t.TTL)
	}
	for i, s := range settings {
		if i == 0 {
			b.WriteString("SETTINGS ")
		} else {
			b.WriteString(",\n         ")
		}
		b.WriteString(s.Name + " = " + s.Value)
	}
	b.WriteByte('\n')
	return b.String()
}
