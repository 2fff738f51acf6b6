package analytics

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// hostile are strings that end literals, comments and parameters in some dialect.
var hostile = []string{
	"'", `\'`, `\`, "''", `"`, "`", "--", "/*", "*/", ";", "{owner:String}", "{filter0:String}", "}", "{", "\x00", "\n",
	"\t", "\r", "\\0", "x' OR 1=1 --", "'; DROP TABLE events; --", "\\'); SELECT 1 --", "{x:Identifier}", "%s", "%!d",
	"${HOST}", "é' --", "\u2028", strings.Repeat("'", 100),
}

// Two requests that differ in their values only compile to one text: whatever
// is written into a string field stays a parameter.
func TestValuesNeverReachTheText(t *testing.T) {
	t.Parallel()
	for i := range Catalog {
		typ := &Catalog[i]
		harmless := statementsWith(t, typ, func(int) string { return "x" })
		for j, s := range statementsWith(t, typ, func(n int) string { return hostile[(i+n)%len(hostile)] }) {
			if s.SQL != harmless[j].SQL {
				t.Fatalf("%s: hostile values change the text to\n%s", typ.Name, s.SQL)
			}
			for k, p := range s.Params {
				if want := harmless[j].Params[k]; p.Name != want.Name || p.Type != want.Type {
					t.Errorf("%s: parameter %s %s, want %s %s", typ.Name, p.Name, p.Type, want.Name, want.Type)
				}
				if strings.ContainsAny(p.Text, "\n\t\x00\r") {
					t.Errorf("%s: parameter %s holds a control character: %q", typ.Name, p.Name, p.Text)
				}
			}
		}
	}
}

// statementsWith puts strings wherever a type takes one, as many in a request as
// it may have.
func statementsWith(t *testing.T, typ *Type, next func(n int) string) []Statement {
	t.Helper()
	filters := filtersWith(t, typ, next)
	var all []Statement
	room := MaxFilters - len(typ.Requires)
	for i := 0; i == 0 || i < len(filters); i += room {
		some := slices.Clone(filters[i:min(i+room, len(filters))])
		for _, field := range typ.Requires {
			some = append(some, `{"field":"`+field+`","op":"eq","value":`+encode(t, next(i))+`}`)
		}
		env := envOf(typ)
		env.Subject.ID = next(i)
		all = append(all,
			mustStatement(t, fmt.Sprintf(`{"id":%s,"parameters":[{"name":%q,"id":%s%s}],"preset":"last_7d","filters":[%s]}`,
				encode(t, next(i+1)), typ.Name, encode(t, next(i+2)), optionsWith(t, typ, next), strings.Join(some, ",")), env))
	}
	return all
}

// optionsWith is every option of a type that takes any text, with a string, and those
// without which the type means nothing.
func optionsWith(t *testing.T, typ *Type, next func(n int) string) string {
	t.Helper()
	text := ""
	for i, o := range typ.Options {
		switch s := next(i); {
		case o.Kind == OptionText && o.OneOf == nil && s != "":
			text += fmt.Sprintf(`,%q:%s`, o.Name, encode(t, s))
		case o.Kind == OptionSteps:
			text += fmt.Sprintf(
				`,%q:[{"name":%s,"event":%[2]s},{"path":%[2]s,"filters":[{"field":"city","op":"eq","value":%[2]s}]}]`, o.Name,
				encode(t, s))
		case o.Required:
			text += fmt.Sprintf(`,%q:%s`, o.Name, o.Example)
		}
	}
	return text
}

// filtersWith is every filter of a type that takes a string, with a string as its
// value, its key, and quoted as a regular expression.
func filtersWith(t *testing.T, typ *Type, next func(n int) string) []string {
	t.Helper()
	var filters []string
	for _, name := range typ.Filters {
		for _, op := range Operators {
			if kind := findField(name).Kind; !op.Supports(kind) || op.wantsNumber(kind) || kind == FlagField {
				continue
			}
			s := next(len(filters))
			text := fmt.Sprintf(`"field":%s,"op":%q`, encode(t, strings.ReplaceAll(name, keyMark, s)), op.Name)
			switch {
			case op.regex:
				text += `,"value":` + encode(t, regexp.QuoteMeta(s))
			case op.Takes == ListOfValues:
				text += `,"value":` + encode(t, []any{s, s})
			case op.Takes == OneValue:
				text += `,"value":` + encode(t, s)
			}
			filters = append(filters, `{"not":{"or":[{`+text+`}]}}`)
		}
	}
	return filters
}

func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Where a string has a meaning (a date, a zone, a name), a hostile one is
// rejected instead.
func TestHostileNamesAreRejected(t *testing.T) {
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
			`{"parameters":["top_pages"],"preset":"today","filters":[{"field":"time_on_page","op":"gt","value":%s}]}`,
			`{"parameters":["link_summary"],"preset":"today","filters":[{"field":"is_bot","op":"eq","value":%s}]}`,
			`{"parameters":[{"name":"top_pages","start_date":%s}],"preset":"today"}`,
			`{"parameters":[{"name":"events_by_date","granularity":%s}],"preset":"today"}`,
		} {
			env := websiteEnv()
			if strings.Contains(body, "link_") {
				env = linkEnv()
			}
			if _, err := compileBody(t, fmt.Sprintf(body, quoted), env); err == nil {
				t.Errorf("%s with %q is accepted", body, h)
			}
		}
	}
}
