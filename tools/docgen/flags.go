package main

import (
	"strconv"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

// flagsPage lists the operators of conditions and the limits of feature flags.
func flagsPage(string) (string, error) {
	d := newDocument("Feature flags",
		"`internal/resource/flag/flageval/operator.go` and `internal/resource/flag/limits.go`")
	d.paragraph("How flags are made and changed is told in [the guide](../guides/feature-flags.md), the operations in " +
		"[operations](operations/flags.md).")
	d.heading("Operators of conditions")
	d.paragraph("An attribute that is missing, null or of another type than the operator asks for meets nothing, also " +
		"with `negate`, but for `exists`. " +
		"Of a list, one element is enough; with `negate` none may be.")
	var rows [][]string
	for _, op := range flageval.Operators() {
		rows = append(rows, []string{code(op[0]), op[1]})
	}
	d.table([]string{"Operator", "Is met when"}, rows)
	d.heading("Limits")
	d.paragraph("Each is an allowed value. Beyond those without a status the oldest, or the last, is left out.")
	rows = nil
	for _, b := range flag.Bounds() {
		beyond := ""
		if b.Beyond > 0 {
			beyond = strconv.Itoa(b.Beyond)
		}
		rows = append(rows, []string{b.What, bound(int64(b.Most)), b.Unit, beyond})
	}
	d.table([]string{"What", "At most", "Unit", "Beyond it"}, rows)
	return d.String(), nil
}
