package analyticstest_test

import (
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/insert"
	"github.com/millrace/millrace/internal/adapter/clickhouse/query"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/analytics/analyticstest"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// exposed is an exposure of the hand-made set.
type exposed struct {
	at, flag, variant, environment string
	profile, visitor               string
	sample                         int
}

// did is an event of the hand-made set.
type did struct{ at, name, profile, visitor string }

// hashOf is what stands for an address in exposures.
func hashOf(email string) string {
	return string(event.AppendHashedEmail(nil, []byte("web_1"), []byte(email)))
}

var handMadeExposures = []exposed{
	{at: "03-28 10:00:00", flag: "checkout", variant: "one", profile: "u1", sample: 100},
	{at: "03-29 10:00:00", flag: "checkout", variant: "one", profile: "u1", sample: 100},
	{at: "03-28 11:00:00", flag: "checkout", variant: "one", visitor: "v1", sample: 100},
	{at: "03-28 12:00:00", flag: "checkout", variant: "one", profile: hashOf("ada@example.com"), sample: 100},
	{at: "03-28 12:00:00", flag: "checkout", variant: "one", profile: "v1", sample: 100}, // a user called as a visitor is
	{at: "03-28 12:00:00", flag: "checkout", variant: "two", profile: "u2", sample: 100},
	{at: "03-28 13:00:00", flag: "checkout", variant: "two", profile: "u3", sample: 100},
	{at: "03-28 12:00:00", flag: "checkout", variant: "one", profile: "u4", sample: 100},
	{at: "03-29 12:00:00", flag: "checkout", variant: "two", profile: "u4", sample: 100},
	{at: "03-29 12:00:00", flag: "checkout", variant: "one", environment: "staging", profile: "u5", sample: 100},
	{at: "03-28 12:00:00", flag: "few", variant: "on", profile: "s1", sample: 10},
	{at: "03-29 12:00:00", flag: "few", variant: "on", profile: "s1", sample: 50},
	{at: "03-29 12:00:00", flag: "few", variant: "on", profile: "s2", sample: 50},
	{at: "03-29 12:00:00", flag: "few", variant: "on", profile: "s3", sample: 25},
}

var handMadeDeeds = []did{
	{"03-28 10:00:01", "purchase", "u1", "x1"},
	{"03-28 11:00:00", "purchase", "", "v1"}, // not after it
	{"03-29 11:00:00", "purchase", "ADA@example.com", ""},
	{"03-28 11:59:00", "purchase", "u2", ""}, // before it
	{"03-28 12:30:00", "signup", "u2", ""},
	{"03-28 14:00:00", "purchase", "u3", ""},
	{"03-28 15:00:00", "purchase", "u3", ""},
	{"03-28 12:00:01", "purchase", "u4", ""},
	{"03-29 12:00:01", "purchase", "s1", ""},
	{"04-01 12:00:01", "purchase", "v1", ""}, // after the range
}

func (x *exposed) row(n int) *sink.Row {
	id, owner, millis := []byte("x_"+strconv.Itoa(n)), []byte("web_1"), at(x.at).UnixMilli()
	return &sink.Row{Topic: []byte(record.TopicExposures), Hash: record.HashOf(owner, id), Event: &record.Event{
		ID: id, Organization: []byte("org_1"), Website: owner, Owner: owner, Type: []byte(record.TypeExposure),
		Name:       []byte(x.flag),
		TimeMillis: millis, ReceivedAt: millis, ProfileID: []byte(x.profile), AnonymousID: []byte(x.visitor),
		Exposure: &record.Exposure{Variant: []byte(x.variant), Environment: []byte(x.environment), Sample: x.sample},
	}}
}

func (d *did) row(n int) *sink.Row {
	id, owner, millis := []byte("e-"+strconv.Itoa(n)), []byte("web_1"), at(d.at).UnixMilli()
	return &sink.Row{Topic: []byte(record.TopicEvents), Hash: record.HashOf(owner, id), Event: &record.Event{
		ID: id, Organization: []byte("org_1"), Website: owner, Owner: owner, Type: []byte(record.TypeCustom),
		Name:       []byte(d.name),
		TimeMillis: millis, ReceivedAt: millis, ProfileID: []byte(d.profile), AnonymousID: []byte(d.visitor),
	}}
}

// newExposures is a server with the hand-made set, told twice.
func newExposures(t *testing.T) *server {
	t.Helper()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	inserter := insert.NewInserter(cfg, "")
	t.Cleanup(func() { inserter.Close() })
	for _, again := range []string{"once", "twice"} {
		exposures, march, april := inserter.NewBlock(record.TopicExposures), inserter.NewBlock(record.TopicEvents),
			inserter.NewBlock(record.TopicEvents)
		for n := range handMadeExposures {
			exposures.Append(handMadeExposures[n].row(n))
		}
		for n := range handMadeDeeds {
			block := march
			if at(handMadeDeeds[n].at).Month() == time.April {
				block = april
			}
			block.Append(handMadeDeeds[n].row(n))
		}
		for i, block := range []sink.Block{exposures, march, april} {
			if err := inserter.Insert(t.Context(), block, fmt.Sprint(again, i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	runner := query.NewRunner(cfg, query.RunnerConfig{Connections: 2})
	t.Cleanup(runner.Close)
	return &server{engine: analytics.NewEngine(analytics.Config{}, analytics.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Runner: &onceRunner{runner: runner},
	})}
}

// wilsonOf is the interval as it is written in books.
func wilsonOf(k, n float64) (low, high float64) {
	const z = 1.959964
	p := k / n
	middle, half := (p+z*z/(2*n))/(1+z*z/n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))/(1+z*z/n)
	percent := func(share float64) float64 { return math.Round(10000*max(0, min(1, share))) / 100 }
	return percent(middle - half), percent(middle + half)
}

// converted is a row of flag_conversions, n of whose visitors were counted.
func converted(variant string, visitors, conversions, rate, k, n float64) analyticstest.Row {
	low, high := wilsonOf(k, n)
	return analyticstest.Row{
		"variant": variant, "mixed": variant == "", "visitors": visitors, "conversions": conversions, "conversion_rate": rate,
		"rate_low": low, "rate_high": high,
	}
}

// Counted by hand.
func TestExposuresOfAHandMadeSet(t *testing.T) {
	t.Parallel()
	s := newExposures(t)
	of := func(key, more string) string {
		return `,"filters":[{"field":"flag_key","op":"eq","value":"` + key + `"}` + more + `]`
	}
	const base = `,{"field":"environment","op":"eq","value":""}`
	purchase := `{"name":"flag_conversions","event_name":"purchase"}`
	// s1 and s2 stand for two each, s3 for four: 2*s1 of 8, said by 64/24 equal ones.
	few := converted("on", 8, 2, 25, 0.25*64/24, 64./24)
	for _, tc := range []struct {
		name, parameter, more, zone string
		want                        []analyticstest.Row
	}{
		{name: "all", parameter: `"flag_exposures"`, more: of("checkout", ""), want: []analyticstest.Row{
			{"variant": "one", "exposures": 7., "visitors": 6.}, {"variant": "two", "exposures": 3., "visitors": 3.},
		}},
		{name: "the base", parameter: `"flag_exposures"`, more: of("checkout", base), want: []analyticstest.Row{
			{"variant": "one", "exposures": 6., "visitors": 5.}, {"variant": "two", "exposures": 3., "visitors": 3.},
		}},
		{
			name:      "a variant",
			parameter: `"flag_exposures"`,
			more:      of("checkout", `,{"field":"variant","op":"eq","value":"two"}`),
			want: []analyticstest.Row{
				{"variant": "two", "exposures": 3., "visitors": 3.},
			},
		},
		{name: "a sample", parameter: `"flag_exposures"`, more: of("few", ""), want: []analyticstest.Row{
			{"variant": "on", "exposures": 18., "visitors": 8.},
		}},
		{name: "another flag", parameter: `"flag_exposures"`, more: of("unheard-of", ""), want: []analyticstest.Row{}},
		{name: "days", parameter: `"flag_exposures_by_date"`, more: of("checkout", base), want: []analyticstest.Row{
			{"date": "2026-03-28", "exposures": 7., "visitors": 7.},
			{"date": "2026-03-29", "exposures": 2., "visitors": 2.},
			{"date": "2026-03-30", "exposures": 0., "visitors": 0.},
		}},
		{
			name:      "days of variants",
			parameter: `"flag_exposures_by_date"`,
			more:      of("checkout", base) + `,"groupBy":["variant"],"sortBy":"visitors"`,
			want: []analyticstest.Row{
				{"date": "2026-03-28", "variant": "one", "exposures": 5., "visitors": 5.},
				{"date": "2026-03-28", "variant": "two", "exposures": 2., "visitors": 2.},
				{"date": "2026-03-29", "variant": "one", "exposures": 1., "visitors": 1.},
				{"date": "2026-03-29", "variant": "two", "exposures": 1., "visitors": 1.},
			},
		},
		{name: "conversions", parameter: purchase, more: of("checkout", base), want: []analyticstest.Row{
			converted("one", 4, 2, 50, 2, 4), converted("two", 2, 1, 50, 1, 2), converted("", 1, 1, 100, 1, 1),
		}},
		{name: "conversions of a sample", parameter: purchase, more: of("few", ""), want: []analyticstest.Row{few}},
		{
			name:      "another event",
			parameter: `{"name":"flag_conversions","event_name":"signup"}`,
			more:      of("checkout", base),
			want: []analyticstest.Row{
				converted("one", 4, 0, 0, 0, 4), converted("two", 2, 1, 50, 1, 2), converted("", 1, 0, 0, 0, 1),
			},
		},
	} {
		env := analytics.Environment{
			Subject: analytics.Subject{Kind: analytics.Website, ID: "web_1"}, Now: at("03-30 20:00:00"), TimeZone: tc.zone,
		}
		body := fmt.Sprintf(`{"parameters":[%s],"startDate":"2026-03-28","endDate":"2026-03-30"%s}`, tc.parameter, tc.more)
		if diff := cmp.Diff(tc.want, s.ask(t, body, env)[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}
