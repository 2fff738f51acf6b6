package analytics

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// hostile are strings that end literals, comments and parameters in some dialect.
var hostile = []string{
	"'", `\'`, `\`, "''", `"`, "`", "--", "/*", "*/", ";", "{owner:String}", "{filter0:String}", "}", "{", "\x00", "\n", "\t", "\r", "\\0",
	"x' OR 1=1 --", "'; DROP TABLE events; --", "\\'); SELECT 1 --", "{x:Identifier}", "%s", "%!d", "${HOST}", "é' --", "\u2028", strings.Repeat("'", 100),
}

// Two requests that differ in their values only compile to one text: whatever
// is written into a string field stays a parameter.
func TestValuesNeverReachTheText(t *testing.T) {
	t.Parallel()
	for i := range Catalog {
		typ := &Catalog[i]
		harmless := statementWith(t, typ, "x")
		for _, h := range hostile {
			s := statementWith(t, typ, h)
			if s.SQL != harmless.SQL {
				t.Fatalf("%s: %q changes the text to\n%s", typ.Name, h, s.SQL)
			}
			for j, p := range s.Params {
				if p.Name != harmless.Params[j].Name || p.Type != harmless.Params[j].Type {
					t.Errorf("%s: %q makes parameter %s %s", typ.Name, h, p.Name, p.Type)
				}
				if strings.ContainsAny(p.Text, "\n\t\x00\r") {
					t.Errorf("%s: parameter %s of %q holds a control character", typ.Name, p.Name, h)
				}
			}
		}
	}
}

// statementWith puts a string wherever the type takes one.
func statementWith(t *testing.T, typ *Type, s string) Statement {
	t.Helper()
	quoted, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var filters []string
	for _, name := range typ.Filters {
		for _, op := range Operators {
			if !op.supports(findField(name)) {
				continue
			}
			value := string(quoted)
			if op.List {
				value = fmt.Sprintf("[%s,%s]", quoted, quoted)
			}
			filters = append(filters, fmt.Sprintf(`{"field":%q,"op":%q,"value":%s}`, name, op.Name, value))
		}
	}
	var sqls []string
	var s0 Statement
	for len(filters) > 0 { // not more at once than a request may have
		n := min(MaxFilters, len(filters))
		body := fmt.Sprintf(`{"id":%s,"parameters":[{"name":%q,"id":%s}],"preset":"last_7d","filters":[%s]}`,
			quoted, typ.Name, quoted, strings.Join(filters[:n], ","))
		filters = filters[n:]
		env := websiteEnv()
		env.Subject.ID = s
		st := mustStatement(t, body, env)
		sqls, s0.Params = append(sqls, st.SQL), append(s0.Params, st.Params...)
	}
	s0.SQL = strings.Join(sqls, "\n")
	return s0
}

// Where a string has a meaning (a date, a zone, a name), a hostile one is
// refused instead.
func TestHostileNamesAreRefused(t *testing.T) {
	t.Parallel()
	for _, h := range hostile {
		quoted, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{
			`{"parameters":[%s],"preset":"today"}`,
			`{"parameters":["top_pages"],"preset":%s}`,
			`{"parameters":["top_pages"],"startDate":%s,"endDate":"2026-01-01"}`,
			`{"parameters":["top_pages"],"startDate":"2026-01-01","endDate":%s}`,
			`{"parameters":["top_pages"],"preset":"today","timeZone":%s}`,
			`{"parameters":["events_by_date"],"preset":"today","granularity":%s}`,
			`{"parameters":["top_pages"],"preset":"today","sortBy":%s}`,
			`{"parameters":["top_pages"],"preset":"today","sortOrder":%s}`,
			`{"parameters":["top_pages"],"preset":"today","groupBy":[%s]}`,
			`{"parameters":["top_pages"],"preset":"today","filters":[{"field":%s,"op":"eq","value":"x"}]}`,
			`{"parameters":["top_pages"],"preset":"today","filters":[{"field":"path","op":%s,"value":"x"}]}`,
			`{"parameters":[{"name":"top_pages","start_date":%s}],"preset":"today"}`,
			`{"parameters":[{"name":"events_by_date","granularity":%s}],"preset":"today"}`,
		} {
			if _, err := compileBody(t, fmt.Sprintf(body, quoted), websiteEnv()); err == nil {
				t.Errorf("%s with %q is accepted", body, h)
			}
		}
	}
}
