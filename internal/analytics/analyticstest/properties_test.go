package analyticstest_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/analytics/analyticstest"
)

// oddProperties are events whose properties are at every bound that types of them
// have, and beyond it.
func oddProperties() []analyticstest.Event {
	var all []analyticstest.Event
	add := func(name string, more int, format string, args ...any) {
		for range more {
			all = append(all, analyticstest.Event{
				Website: "web_1", Organization: "org_1", ID: strconv.Itoa(len(all)), Name: name,
				Properties: fmt.Sprintf(format, args...),
				Time:       at("03-29 10:00:00").Add(time.Duration(len(all)) * time.Second), ReceivedAt: at("03-30 00:00:00"),
			})
		}
	}
	for i := range 51 {
		add("many", 1+i%3, `{"n":%d,"id":"id-%d","day":"2026-01-02T10:%02d:00Z","few":%t}`, i, i, i, i%2 == 0)
		if i < 50 {
			add("fifty", 1, `{"n":%d.5,"empty":"","url":"https://example.com/%d"}`, i, i)
		}
		add("repeated", 4, `{"word":"word %d","mixed":%d}`, i, i)
		add("repeated", 1, `{"mixed":"%d x"}`, i)
	}
	long := strings.Repeat("ü", 255)
	for _, properties := range []string{
		"", "{}", `{"none":null}`, `{"":"","ü 'k\"\\":"v\n","nested":{"a":[1.50,{"b":"1.50"}],"c":null},"list":[]}`,
		`{"long":"` + long + `a"}`, `{"long":"` + long + `ab"}`, `{"long":"` + long + `b"}`,
		`{"number":"1","flag":true}`, `{"number":2.50,"flag":"false"}`, `{"number":1e3,"flag":""}`,
		`{"ids":[12345678901234567890123,22345678901234567890123],"plan":"pro"}`,
		`{"ids":[-9223372036854775809,18446744073709551616,12345678901234567890123,1],"plan":"free"}`,
		`{"exact":1234567890123456789,"below":-1234567890123456789,"above":17999999999999999999,"ids":[12345678901234567890123]}`,
		`{"number":12345678901234567890123}`, `{"number":18446744073709551615,"day":"2026-01-02"}`,
		`{"date":"2026-01-02T10:00"}`, `{"date":"2026-01-02 10:00:00.5+0100"}`,
	} {
		add("odd", 1, "%s", properties)
	}
	resent := all[0]
	resent.ReceivedAt, resent.Properties = resent.ReceivedAt.Add(time.Second), `{"again":1}`
	add("screen_view", 1, `{"page":1}`)
	return append(all, resent)
}

func TestOddPropertiesAreCountedAsTheOracleDoes(t *testing.T) {
	t.Parallel()
	s := newServer(t, oddProperties())
	asked := 0
	for i := range analytics.Catalog {
		if typ := &analytics.Catalog[i]; len(typ.Options) > 0 || !slices.Contains(typ.Tags, "properties") {
			continue
		}
		env, q := subject(false)
		env.Now, q.Limit, q.Type = at("03-29 12:00:00"), 5000, analytics.Catalog[i].Name
		preset(&q, "today", env.Now, "")
		s.check(t, `{"parameters":["`+q.Type+`"],"preset":"today","limit":5000}`, env, q)
		asked++
	}
	if asked < 6 {
		t.Errorf("%d types of properties", asked)
	}
}

// What a key's values look like is told by all of them, and shares are of all
// events that have the key, whichever rows are asked for.
func TestRowsOfPropertiesAreFilteredByKeyAndValue(t *testing.T) {
	t.Parallel()
	s := newServer(t, oddProperties())
	env, _ := subject(false)
	env.Now = at("03-29 12:00:00")
	got := s.ask(t, `{"preset":"today","filters":[{"field":"property_key","op":"eq","value":"few"}],
		"parameters":["custom_events_property_distribution","custom_events_property_classification","custom_events_property_cardinality"]}`, env)
	row := func(value string, count, share float64) analyticstest.Row {
		return analyticstest.Row{
			"event_name": "many", "property_key": "few", "property_value": value, "count": count, "total": 102.,
			"percentage": share, "cardinality": 2.,
		}
	}
	want := [][]analyticstest.Row{
		{row("true", 52, 50.98), row("false", 50, 49.02)},
		{{
			"event_name": "many", "property_key": "few", "cardinality": 2., "total_count": 102., "coverage_ratio": 1.,
			"avg_length": 4.49, "max_length": 5.,
			"is_numeric": false, "is_boolean": true, "is_date_like": false, "is_url_like": false, "inferred_type": "boolean",
			"render_strategy": "distribution", "sample_values": []any{"true", "false"},
		}},
		{{"event_name": "many", "property_key": "few", "unique_values": 2., "occurrences": 102.}},
	}
	if diff := diffOf(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	got = s.ask(t, `{"preset":"today","filters":[{"field":"property_value","op":"starts_with","value":"fal"},{"field":"property_key","op":"in","value":["few","n"]}],
		"parameters":["custom_events_property_top_values"]}`, env)
	if len(got[0]) != 1 || got[0][0]["rank"] != 2. || got[0][0]["percentage"] != 49.02 {
		t.Errorf("rows of a value: %v", got[0])
	}
}
