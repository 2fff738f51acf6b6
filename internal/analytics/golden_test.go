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

// linkEnv is about a link, and envOf about what a type is about.
func linkEnv() Environment {
	return Environment{Subject: Subject{Kind: Link, ID: "lnk_1"}, Now: testNow}
}

func envOf(t *Type) Environment {
	if t.Subjects == Link {
		return linkEnv()
	}
	return websiteEnv()
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
	link             bool
	rollups          bool
	dirty            []time.Time
}{
	{file: "summary_metrics.rollup", rollups: true, body: `{"parameters":["summary"],"preset":"last_7d"}`},
	{
		file:    "summary_metrics.rollup_now",
		rollups: true,
		body:    `{"parameters":["summary"],"startDate":"2026-03-25","endDate":"2026-03-29T11:12:13Z"}`,
	},
	{
		file: "events_by_date.rollup", rollups: true, zone: "Asia/Kolkata", dirty: []time.Time{testNow.Truncate(day)},
		body: `{"parameters":["events_by_date"],"preset":"last_7d"}`,
	},
	{
		file: "top_pages.rollup", rollups: true, organization: true, body: `{"parameters":["top_pages"],"preset":"last_30d"}`,
	},
	{
		file:    "city.rollup",
		rollups: true,
		zone:    "Europe/Berlin",
		body:    `{"parameters":["city"],"preset":"last_30d","sortBy":"visitors"}`,
	},
	{file: "top_referrers.rollup", rollups: true, body: `{"parameters":["top_referrers"],"preset":"last_30d"}`},
	{
		file:    "together.views",
		rollups: true,
		body:    `{"parameters":["top_pages","city","browser_name"],"preset":"last_30d","limit":10,"page":2}`,
	},
	{
		file:    "together.visits",
		rollups: true,
		zone:    "Europe/Berlin",
		body:    `{"parameters":["summary_metrics","events_by_date"],"preset":"last_7d"}`,
	},
	{file: "custom_events.rollup", rollups: true, body: `{"parameters":["custom_events"],"preset":"last_30d"}`},
	{
		file:    "custom_events_trends.rollup",
		rollups: true,
		body:    `{"parameters":["custom_events_trends"],"preset":"last_30d"}`,
	},
	{file: "summary_metrics.organization", body: `{"parameters":["summary"],"preset":"last_7d"}`, organization: true},
	{file: "summary_metrics.filtered", body: `{"parameters":["summary_metrics"],"preset":"today","filters":[
		{"field":"path","op":"starts_with","value":"/docs"},{"field":"event_name","op":"not_in","value":["a","b"]}]}`},
	{
		file: "events_by_date.hourly",
		body: `{"parameters":["events_by_date"],"startDate":"2026-10-25","endDate":"2026-10-25","granularity":"hourly"}`,
		zone: "Europe/Berlin",
	},
	{
		file: "events_by_date.sorted",
		body: `{"parameters":["events_by_date"],"preset":"last_7d","sortBy":"visitors"}`,
		zone: "Asia/Kolkata",
	},
	{file: "top_pages.every_operator", body: `{"parameters":["top_pages"],"preset":"yesterday","sortBy":"visitors","sortOrder":"asc","limit":10,"page":3,"filters":[
		{"field":"path","op":"eq","value":"/"},{"field":"namespace","op":"ne","value":"x"},{"field":"source","op":"contains","value":"x"},
		{"field":"profile_id","op":"not_contains","value":"x"},{"field":"session_id","op":"starts_with","value":"x"},
		{"field":"anonymous_id","op":"in","value":["x"]},{"field":"website_id","op":"not_in","value":["x"]}]}`},
	{
		file:         "ingestion_health.organization",
		body:         `{"parameters":["ingestion_health"],"preset":"today","filters":[{"field":"website_id","op":"eq","value":"web_1"}]}`,
		organization: true,
	},
	{file: "top_pages.compared", body: `{"parameters":["top_pages"],"preset":"last_7d","limit":5,"filters":[{"field":"country","op":"eq","value":"AT"}],"compare":"previous_period"}`},
	{
		file:    "top_pages.compared_rollup",
		rollups: true,
		dirty:   []time.Time{testNow.Truncate(day).AddDate(0, 0, -9)},
		body:    `{"parameters":["top_pages"],"preset":"last_7d","compare":"previous_period"}`,
	},
	{
		file: "summary_metrics.compared",
		body: `{"parameters":["summary"],"preset":"today","compare":{"startDate":"2025-03-30","endDate":"2025-03-30"}}`,
	},
	{file: "events_by_date.compared", body: `{"parameters":["events_by_date"],"startDate":"2026-03-29T10:00","endDate":"2026-03-29T14:00","granularity":"hour","compare":"previous_period"}`, zone: "Europe/Berlin"},
	{file: "top_pages.nested", body: `{"parameters":["top_pages"],"preset":"today","filters":[
		{"or":[{"field":"country","op":"eq","value":"AT"},{"and":[{"field":"query_string","op":"regex","value":"^a=\\d+$"},{"not":{"field":"rtt","op":"gte","value":100.5}}]}]},
		{"field":"city","op":"not_set"},{"and":[{"field":"scroll_depth","op":"not_in","value":[1,"2.5"]},{"field":"host","op":"ends_with","value":".at"}]}]}`},
	{file: "custom_events.properties", body: `{"parameters":["custom_events"],"preset":"today","filters":[
		{"field":"property:plan","op":"eq","value":"pro"},{"field":"property:a.b","op":"gt","value":"5"},{"field":"property:n","op":"ne","value":7},
		{"field":"property:x","op":"in","value":["a",1,true]},{"field":"property:y","op":"is_set"}]}`},
	{file: "summary_metrics.traits", body: `{"parameters":["summary"],"preset":"today","filters":[{"field":"trait:plan","op":"eq","value":"pro"},{"field":"trait:seats","op":"lt","value":5}]}`},
	{
		file:         "summary_metrics.traits_organization",
		body:         `{"parameters":["summary"],"preset":"today","filters":[{"field":"trait:plan","op":"not_set"}]}`,
		organization: true,
	},
	{
		file:    "link_total_clicks.rollup",
		link:    true,
		rollups: true,
		body:    `{"parameters":["link_total_clicks"],"preset":"last_30d"}`,
	},
	{
		file: "link_summary.rollup", link: true, rollups: true, zone: "Asia/Kolkata",
		body: `{"parameters":["link_summary"],"preset":"last_7d"}`,
	},
	{
		file: "link_top_cities.rollup", link: true, rollups: true, zone: "Europe/Berlin",
		dirty: []time.Time{testNow.Truncate(day)}, body: `{"parameters":["link_top_cities"],"preset":"last_30d"}`,
	},
	{
		file: "link_countries_by_day.rollup", link: true, rollups: true, zone: "Europe/Berlin",
		body: `{"parameters":["link_countries_by_day"],"preset":"last_7d","granularity":"hourly"}`,
	},
	{
		file:    "link_referrers_by_day.rollup",
		link:    true,
		rollups: true,
		zone:    "Europe/Berlin",
		dirty:   []time.Time{testNow.Truncate(day).AddDate(0, 0, -3)},
		body:    `{"parameters":["link_referrers_by_day"],"preset":"last_7d"}`,
	},
	{file: "link_targets.rollup", link: true, rollups: true, body: `{"parameters":["link_targets"],"preset":"last_30d"}`},
	{file: "link_summary.bots", link: true, body: `{"parameters":["link_summary"],"preset":"today","filters":[{"or":[{"field":"is_bot","op":"eq","value":true},{"field":"is_qr","op":"ne","value":false}]}]}`},
	{file: "link_top_referrers.filtered", link: true, body: `{"parameters":["link_top_referrers"],"preset":"today","filters":[{"field":"referrer","op":"ends_with","value":"google.com"},{"field":"variant_id","op":"in","value":["a"]}],"compare":"previous_period"}`},
	{
		file: "flag_exposures_by_date.grouped",
		zone: "Europe/Berlin",
		body: `{"parameters":["flag_exposures_by_date"],"preset":"last_7d","groupBy":["variant"],"filters":[
		{"field":"flag_key","op":"eq","value":"checkout"},{"field":"environment","op":"in","value":["","staging"]},{"field":"variant","op":"ne","value":"x"}]}`,
	},
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
		compareGolden(t, typ.Name, mustStatement(t,
			strings.ReplaceAll(typ.Example("x"), `"preset":"x"`, `"startDate":"2026-03-28","endDate":"2026-03-30"`), envOf(typ)))
	}
	for _, tc := range goldenCases {
		env := websiteEnv()
		env.TimeZone, env.Rollups, env.Dirty = tc.zone, tc.rollups, tc.dirty
		if tc.organization {
			env.Subject = Subject{Kind: Organization, ID: "org_1"}
		}
		if tc.link {
			env.Subject = linkEnv().Subject
		}
		want = append(want, tc.file)
		compareGolden(t, tc.file, mustStatement(t, tc.body, env))
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

// compareGolden compares a statement and its parameters with a file.
func compareGolden(t *testing.T, name string, s Statement) {
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
