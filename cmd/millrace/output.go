package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// jsonFlag adds --json, which prints a JSON object for each record.
func jsonFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print a JSON object for each record")
}

// printRecord prints a record on a line.
func printRecord(cmd *cobra.Command, record any) error {
	e := json.NewEncoder(cmd.OutOrStdout())
	e.SetEscapeHTML(false)
	return e.Encode(record)
}

// table is a table of columns as wide as they need to be.
func table(out io.Writer, columns ...string) (row func(cells ...any), flush func() error) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(columns, "\t"))
	return func(cells ...any) {
		line := make([]string, len(cells))
		for i, c := range cells {
			line[i] = fmt.Sprint(c)
		}
		fmt.Fprintln(w, strings.Join(line, "\t"))
	}, w.Flush
}
