package analytics

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

var testNow = time.Date(2026, 3, 30, 10, 20, 30, 0, time.UTC)

func websiteEnv() Environment {
	return Environment{Subject: Subject{Kind: Website, ID: "web_1"}, Now: testNow}
}

// compileBody runs a body through the two steps that a request takes.
func compileBody(t *testing.T, body string, env Environment) ([]Plan, error) {
	t.Helper()
	requests, batch, err := Decode([]byte(body))
	if err != nil {
		return nil, err
	}
	return Compile(requests, batch, env)
}

// mustStatement compiles a body of one parameter.
func mustStatement(t *testing.T, body string, env Environment) Statement {
	t.Helper()
	plans, err := compileBody(t, body, env)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return plans[0].Statements[0]
}

// goldenCase is a variant of a type beyond its plain form, of which each type
// has one file.
var goldenCases = []struct {
	file, body, zone string
	organization     bool
}{
	{file: "summary_metrics.organization", body: `{"parameters":["summary"],"preset":"last_7d"}`, organization: true},
	{file: "summary_metrics.filtered", body: `{"parameters":["summary_metrics"],"preset":"today","filters":[
		{"field":"path","op":"starts_with","value":"/docs"},{"field":"event_name","op":"not_in","value":["a","b"]}]}`},
	{file: "events_by_date.hourly", body: `{"parameters":["events_by_date"],"startDate":"2026-10-25","endDate":"2026-10-25","granularity":"hourly"}`, zone: "Europe/Berlin"},
	{file: "events_by_date.sorted", body: `{"parameters":["events_by_date"],"preset":"last_7d","sortBy":"visitors"}`, zone: "Asia/Kolkata"},
	{file: "top_pages.every_operator", body: `{"parameters":["top_pages"],"preset":"yesterday","sortBy":"visitors","sortOrder":"asc","limit":10,"page":3,"filters":[
		{"field":"path","op":"eq","value":"/"},{"field":"namespace","op":"ne","value":"x"},{"field":"source","op":"contains","value":"x"},
		{"field":"profile_id","op":"not_contains","value":"x"},{"field":"session_id","op":"starts_with","value":"x"},
		{"field":"anonymous_id","op":"in","value":["x"]},{"field":"website_id","op":"not_in","value":["x"]}]}`},
	{file: "custom_events.property_keys", body: `{"parameters":["custom_events"],"preset":"this_month","filters":[
		{"field":"property_key","op":"eq","value":"plan"},{"field":"property_key","op":"ne","value":"x"},
		{"field":"property_key","op":"in","value":["a","b"]},{"field":"property_key","op":"not_in","value":["c"]}]}`},
}

func TestSQLOfEveryTypeIsTheGoldenFile(t *testing.T) {
	t.Parallel()
	var want []string
	for i := range Catalog {
		typ := &Catalog[i]
		want = append(want, typ.Name)
		golden(t, typ.Name, mustStatement(t, `{"parameters":["`+typ.Name+`"],"startDate":"2026-03-28","endDate":"2026-03-30"}`, websiteEnv()))
	}
	for _, tc := range goldenCases {
		env := websiteEnv()
		env.TimeZone = tc.zone
		if tc.organization {
			env.Subject = Subject{Kind: Organization, ID: "org_1"}
		}
		want = append(want, tc.file)
		golden(t, tc.file, mustStatement(t, tc.body, env))
	}
	files, err := filepath.Glob("testdata/sql/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.Contains(want, strings.TrimSuffix(filepath.Base(f), ".sql")) {
			t.Errorf("%s belongs to no type", f)
		}
	}
}

// golden compares a statement and its parameters with a file.
func golden(t *testing.T, name string, s Statement) {
	t.Helper()
	var b strings.Builder
	b.WriteString(s.SQL + "\n\n")
	for _, p := range s.Params {
		b.WriteString("-- " + p.Name + " " + p.Type + " " + p.Text + "\n")
	}
	file := filepath.Join("testdata", "sql", name+".sql")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (-want +got); run with -update:\n%s", file, diff)
	}
}
