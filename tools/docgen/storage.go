package main

import (
	"strconv"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/kafka"
)

func tablesPage(string) (string, error) {
	d := newDocument("ClickHouse tables", "`internal/adapter/clickhouse/schema/tables.go`")
	d.paragraph("All of them stand in the database that `clickhouse.database` names. Migrations,\n" +
		"the sink's blocks and the check at the start of a daemon read the same lists.")
	for i := range schema.Tables {
		t := &schema.Tables[i]
		d.heading(t.Name)
		d.paragraph(t.Doc)
		d.table([]string{"Engine", "Partition", "Sort key", "Rows are kept until"},
			[][]string{{code(t.Engine), code(t.PartitionBy), codes(t.OrderBy), code(t.TTL)}})
		var rows [][]string
		for j := range t.Columns {
			c := &t.Columns[j]
			rows = append(rows, []string{code(c.Name), code(c.Type), code(c.Default), code(c.Codec), c.Doc})
		}
		d.table([]string{"Column", "Type", "Default", "Codec", "Meaning"}, rows)
		rows = nil
		for _, s := range t.Settings {
			rows = append(rows, []string{code(s.Name), code(s.Value), s.Doc})
		}
		d.table([]string{"Setting", "Value", "Why"}, rows)
	}
	d.heading("Views")
	d.paragraph("What a view makes of each block that is inserted into a table is inserted into\n" +
		"another one, under the same token.")
	var rows [][]string
	for i := range schema.Views {
		v := &schema.Views[i]
		rows = append(rows, []string{code(v.Name), code(v.From), code(v.To), v.Doc})
	}
	d.table([]string{"View", "From", "To", "Purpose"}, rows)
	return d.String(), nil
}

func topicsPage(string) (string, error) {
	d := newDocument("Topics", "`internal/adapter/kafka/topics.go`")
	d.paragraph("`millrace topics create` makes them and `millrace topics check` compares them. The\n" +
		"names stand behind `kafka.topic_prefix`, where one is set; `kafka.partitions` and\n" +
		"`kafka.replication` say how they are spread; `control.v1` always has one partition.")
	var rows [][]string
	for _, t := range kafka.Topics {
		days := int(t.Retention / (24 * time.Hour))
		rows = append(rows,
			[]string{code(t.Name), strconv.Itoa(days) + " days", t.Cleanup, bound(int64(t.MaxMessageBytes)), t.Help})
	}
	d.table([]string{"Topic", "Kept for", "Cleanup", "Largest batch, bytes", "Holds"}, rows)
	return d.String(), nil
}
