package analytics

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var tableOfSQL = regexp.MustCompile(`\b(?:FROM|(?:LEFT|INNER|CROSS) JOIN) ([a-z][a-z0-9_]*)\b`)

// tablesIn are the tables that a statement names, each once and in order, but for that by
// which the owners of an organization are known.
func tablesIn(sql string) []string {
	var all []string
	for _, m := range tableOfSQL.FindAllStringSubmatch(strings.ReplaceAll(sql, countedOwners, ""), -1) {
		all = append(all, m[1])
	}
	return sorted(distinct(all))
}

// tableBodies ask for a type as it is, filtered by a field of the event and by a trait, and
// compared with another range.
func tableBodies(typ *Type) map[string]string {
	plain := typ.Example("last_7d")
	with := func(filter string) string {
		body := strings.Replace(plain, `"filters":[`, `"filters":[`+filter+`,`, 1)
		return strings.Replace(body, `,]`, `]`, 1)
	}
	all := map[string]string{"plain": plain}
	if slices.Contains(typ.Filters, "path") {
		all["filtered"] = with(`{"field":"path","op":"eq","value":"/"}`)
	}
	if slices.Contains(typ.Filters, "trait:"+keyMark) {
		all["by trait"] = with(`{"field":"trait:plan","op":"eq","value":"pro"}`)
	}
	if typ.Comparable() {
		all["compared"] = strings.Replace(plain, `"preset"`, `"compare":"previous_period","preset"`, 1)
	}
	return all
}

// tableEnvs are about a subject: without rollups, with them, and with a day that they
// cannot answer for.
func tableEnvs(kind SubjectKind) map[string]Environment {
	env := Environment{Subject: Subject{Kind: kind, ID: "x"}, Now: testNow}
	all := map[string]Environment{"events": env}
	env.Rollups = true
	all["rollups"] = env
	env.Dirty = []time.Time{testNow.Truncate(day).AddDate(0, 0, -3)}
	all["a dirty day"] = env
	return all
}

var subjectKinds = []SubjectKind{Website, Organization, Link}

func checkTables(t *testing.T, name, body string, env Environment) {
	t.Helper()
	plans, err := compileBody(t, body, env)
	if err != nil {
		t.Errorf("%s: %s: %v", name, body, err)
		return
	}
	for i := range plans[0].Statements {
		s := &plans[0].Statements[i]
		if diff := cmp.Diff(tablesIn(s.SQL), sorted(slices.Clone(s.Tables))); diff != "" {
			t.Errorf("%s, %s from %s of kind %d: tables of the SQL (-), and told (+):\n%s",
				s.Type.Name, name, s.Source, env.Subject.Kind, diff)
		}
	}
}

// A response is kept, and its ETag is good, as long as the tables that are told stay the same.
func TestEveryTypeTellsTheTablesThatItsSQLReads(t *testing.T) {
	t.Parallel()
	for i := range Catalog {
		typ := &Catalog[i]
		for _, kind := range subjectKinds {
			if typ.Subjects&kind == 0 {
				continue
			}
			for from, env := range tableEnvs(kind) {
				for how, body := range tableBodies(typ) {
					checkTables(t, typ.Name+" "+how+" from "+from, body, env)
				}
			}
		}
	}
}

func TestStepsTellTheTablesOfTheirFilters(t *testing.T) {
	t.Parallel()
	for _, kind := range []SubjectKind{Website, Organization} {
		checkTables(t, "funnel by trait", `{"parameters":[{"name":"funnel","steps":[{"path":"/"},
			{"filters":[{"field":"trait:plan","op":"eq","value":"pro"}]}]}],"preset":"last_7d"}`, tableEnvs(kind)["events"])
	}
}

// What is computed together reads what each would have read, whichever comes first.
func TestStatementsOfSeveralTypesTellTheTablesOfEach(t *testing.T) {
	t.Parallel()
	for _, kind := range subjectKinds {
		var names []string
		for i := range Catalog {
			typ := &Catalog[i]
			if typ.Subjects&kind != 0 && len(typ.Requires) == 0 && !typ.needsOptions() {
				names = append(names, typ.Name)
			}
		}
		reversed := slices.Clone(names)
		slices.Reverse(reversed)
		for _, of := range [][]string{names, reversed} {
			for some := range slices.Chunk(of, MaxParameters) {
				body := `{"parameters":["` + strings.Join(some, `","`) + `"],"preset":"last_7d","limit":10}`
				for from, env := range tableEnvs(kind) {
					checkTables(t, "together from "+from, body, env)
				}
			}
		}
	}
}

func (t *Type) needsOptions() bool {
	return slices.ContainsFunc(t.Options, func(o Option) bool { return o.Required })
}
