package analyticstest_test

import (
	"fmt"
	"log/slog"
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
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// clicked is a click of the hand-made set.
type clicked struct {
	at, visitor, country, region, city, device, browser, host, site, rule, variant string
	qr, bot                                                                        bool
}

var handMadeClicks = []clicked{
	{
		at: "03-28 23:30:00", visitor: "a", country: "AT", region: "Styria", city: "Graz", device: "mobile",
		browser: "Firefox", host: "google.com", site: "Google", rule: "rul_1", variant: "var_1",
	},
	{
		at: "03-28 23:40:00", visitor: "a", country: "AT", region: "Styria", city: "Graz", device: "mobile",
		browser: "Firefox", rule: "rul_1", variant: "var_2", qr: true,
	},
	{
		at: "03-29 10:00:00", visitor: "b", country: "DE", region: "Bavaria", city: "München", device: "desktop",
		browser: "Chrome", host: "google.com", site: "Google",
	},
	{
		at: "03-29 10:10:00", visitor: "b", country: "DE", region: "Bavaria", city: "München", device: "desktop",
		browser: "Chrome", host: "example.org",
	},
	{
		at: "03-29 11:10:00", visitor: "b", country: "DE", region: "Bavaria", city: "München", device: "desktop",
		browser: "Chrome",
	},
	{at: "03-29 12:00:00", country: "FR", device: "desktop", rule: "rul_1", variant: "var_1"},
	{
		at: "03-29 12:30:00", visitor: "x", country: "US", device: "other", browser: "Bot", host: "bots.example", bot: true,
		rule: "rul_2",
	},
	{at: "03-30 09:00:00", visitor: "y", country: "US", bot: true, qr: true},
}

func (c *clicked) row(t *testing.T, n int, owner string) *sink.Row {
	t.Helper()
	w := new(record.Web)
	for text, value := range map[record.WebText]string{
		record.Country: c.country, record.Region: c.region, record.City: c.city, record.Device: c.device,
		record.Browser:      c.browser,
		record.ReferrerHost: c.host, record.ReferrerName: c.site,
	} {
		w.Texts[text] = []byte(value)
	}
	id, link := []byte(strconv.Itoa(n)), []byte(owner)
	millis := at(c.at).UnixMilli()
	return &sink.Row{Topic: []byte(record.TopicClicks), Hash: record.HashOf(link, id), Event: &record.Event{
		ID: id, Organization: []byte("org_1"), Owner: link, Type: []byte(record.TypeClick), Name: []byte(record.TypeClick),
		TimeMillis: millis, ReceivedAt: millis, Web: w,
		Click: &record.Click{
			Link: link, Visitor: []byte(c.visitor), RuleID: []byte(c.rule), VariantID: []byte(c.variant), IsQR: c.qr,
			IsBot: c.bot, Status: 302,
		},
	}}
}

// newClicks is a server with clicks of lnk_1, and one of another link.
func newClicks(t *testing.T, clicks []clicked) *server {
	t.Helper()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	inserter := insert.NewInserter(cfg, "")
	t.Cleanup(func() { inserter.Close() })
	blocks := map[time.Month]sink.Block{}
	for i := range clicks {
		month := at(clicks[i].at).Month()
		if blocks[month] == nil {
			blocks[month] = inserter.NewBlock(record.TopicClicks)
		}
		blocks[month].Append(clicks[i].row(t, i, "lnk_1"))
	}
	blocks[at(clicks[0].at).Month()].Append(clicks[0].row(t, 0, "lnk_2"))
	for month, block := range blocks {
		if err := inserter.Insert(t.Context(), block, month.String()); err != nil {
			t.Fatal(err)
		}
	}
	runner := query.NewRunner(cfg, query.RunnerConfig{Connections: 2})
	t.Cleanup(runner.Close)
	return &server{engine: analytics.NewEngine(analytics.Config{}, analytics.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Runner: &onceRunner{runner: runner},
	})}
}

type clickRow = analyticstest.Row

// Counted by hand. The first two clicks lie on Berlin's 29 March, and on another UTC day.
func TestClicksOfAHandMadeSet(t *testing.T) {
	t.Parallel()
	s := newClicks(t, handMadeClicks)
	for _, tc := range []struct {
		name, parameter, more, zone string
		want                        []clickRow
	}{
		{name: "all", parameter: "link_total_clicks", want: []clickRow{{"total": 6.}}},
		{name: "bots", parameter: "link_total_clicks", more: filter("is_bot", "true"), want: []clickRow{{"total": 2.}}},
		{name: "no bots", parameter: "link_total_clicks", more: filter("is_bot", "false"), want: []clickRow{{"total": 6.}}},
		{
			name:      "whoever",
			parameter: "link_total_clicks",
			more:      `,"filters":[{"or":[{"field":"is_bot","op":"eq","value":true},{"field":"is_qr","op":"ne","value":true}]}]`,
			want:      []clickRow{{"total": 7.}},
		},
		{name: "by QR code", parameter: "link_total_clicks", more: filter("is_qr", "true"), want: []clickRow{{"total": 1.}}},
		{name: "a country", parameter: "link_total_clicks", more: filter("country", `"DE"`), want: []clickRow{{"total": 3.}}},
		{
			name:      "a site",
			parameter: "link_total_clicks",
			more:      filter("referrer", `"google.com"`),
			want:      []clickRow{{"total": 2.}},
		},
		{
			name:      "a rule and a variant",
			parameter: "link_total_clicks",
			more:      `,"filters":[{"field":"rule_id","op":"eq","value":"rul_1"},{"field":"variant_id","op":"eq","value":"var_1"}]`,
			want:      []clickRow{{"total": 2.}},
		},
		{
			name: "summary", parameter: "link_summary",
			want: []clickRow{
				{"clicks": 6., "unique_clicks": 3., "unique_visitors": 2., "bots": 2., "last_clicked": "2026-03-29T12:00:00.000Z"},
			},
		},
		{
			name: "summary of the bots", parameter: "link_summary", more: filter("is_bot", "true"),
			want: []clickRow{
				{"clicks": 2., "unique_clicks": 2., "unique_visitors": 2., "bots": 2., "last_clicked": "2026-03-30T09:00:00.000Z"},
			},
		},
		{
			name: "summary of nothing", parameter: "link_summary", more: filter("country", `"IT"`),
			want: []clickRow{{"clicks": 0., "unique_clicks": 0., "unique_visitors": 0., "bots": 0., "last_clicked": nil}},
		},
		{
			name: "days", parameter: "link_clicks_by_day",
			want: []clickRow{
				{"date": "2026-03-28", "clicks": 2.}, {"date": "2026-03-29", "clicks": 4.}, {"date": "2026-03-30", "clicks": 0.},
			},
		},
		{
			name: "days of Berlin", parameter: "link_clicks_by_day", zone: "Europe/Berlin",
			want: []clickRow{
				{"date": "2026-03-28", "clicks": 0.}, {"date": "2026-03-29", "clicks": 6.}, {"date": "2026-03-30", "clicks": 0.},
			},
		},
		{
			name: "referrers", parameter: "link_referrers_by_day",
			want: []clickRow{
				{"date": "2026-03-28", "value": 1.}, {"date": "2026-03-29", "value": 2.}, {"date": "2026-03-30", "value": 0.},
			},
		},
		{
			name: "countries of Berlin's days", parameter: "link_countries_by_day", zone: "Europe/Berlin",
			want: []clickRow{
				{"date": "2026-03-28", "value": 0.}, {"date": "2026-03-29", "value": 3.}, {"date": "2026-03-30", "value": 0.},
			},
		},
		{name: "sites", parameter: "link_top_referrers", want: []clickRow{
			{"name": "Direct", "referrer": "", "clicks": 3.},
			{"name": "Google", "referrer": "google.com", "clicks": 2.},
			{"name": "example.org", "referrer": "example.org", "clicks": 1.},
		}},
		{name: "countries", parameter: "link_top_countries", zone: "Asia/Kolkata", want: []clickRow{
			{"name": "Germany", "country": "DE", "clicks": 3.},
			{"name": "Austria", "country": "AT", "clicks": 2.},
			{"name": "France", "country": "FR", "clicks": 1.},
		}},
		{
			name:      "a page of countries",
			parameter: "link_top_countries",
			more:      `,"limit":1,"page":2`,
			want:      []clickRow{{"name": "Austria", "country": "AT", "clicks": 2.}},
		},
		{name: "regions", parameter: "link_top_regions", want: []clickRow{
			{"name": "Bavaria", "country": "DE", "clicks": 3.}, {"name": "Styria", "country": "AT", "clicks": 2.},
		}},
		{name: "cities", parameter: "link_top_cities", want: []clickRow{
			{"name": "München", "country": "DE", "clicks": 3.}, {"name": "Graz", "country": "AT", "clicks": 2.},
		}},
		{
			name:      "devices",
			parameter: "link_top_devices",
			want:      []clickRow{{"name": "desktop", "clicks": 4.}, {"name": "mobile", "clicks": 2.}},
		},
		{
			name:      "browsers",
			parameter: "link_top_browsers",
			want:      []clickRow{{"name": "Chrome", "clicks": 3.}, {"name": "Firefox", "clicks": 2.}},
		},
		{name: "targets", parameter: "link_targets", want: []clickRow{
			{"rule_id": "", "variant_id": "", "clicks": 3., "unique_visitors": 1.},
			{"rule_id": "rul_1", "variant_id": "var_1", "clicks": 2., "unique_visitors": 1.},
			{"rule_id": "rul_1", "variant_id": "var_2", "clicks": 1., "unique_visitors": 1.},
		}},
		{
			name:      "a device of bots",
			parameter: "link_top_devices",
			more:      filter("is_bot", "true"),
			want:      []clickRow{{"name": "other", "clicks": 1.}},
		},
	} {
		for _, rollups := range []bool{false, true} {
			env := analytics.Environment{
				Subject:  analytics.Subject{Kind: analytics.Link, ID: "lnk_1"},
				Now:      at("03-30 20:00:00"),
				TimeZone: tc.zone,
				Rollups:  rollups,
			}
			body := fmt.Sprintf(`{"parameters":[%q],"startDate":"2026-03-28","endDate":"2026-03-30"%s}`, tc.parameter, tc.more)
			if diff := cmp.Diff(tc.want, s.ask(t, body, env)[0]); diff != "" {
				t.Errorf("%s, rollups %v (-want +got):\n%s", tc.name, rollups, diff)
			}
		}
	}
}

// filter is one comparison of a request.
func filter(field, value string) string {
	return fmt.Sprintf(`,"filters":[{"field":%q,"op":"eq","value":%s}]`, field, value)
}

// What was clicked before is told beside it.
func TestClicksAreComparedWithAnotherTime(t *testing.T) {
	t.Parallel()
	s := newClicks(t, handMadeClicks)
	env := analytics.Environment{
		Subject: analytics.Subject{Kind: analytics.Link, ID: "lnk_1"}, Now: at("03-30 20:00:00").Add(time.Hour),
		Rollups: true,
	}
	got := s.ask(t, `{"parameters":["link_total_clicks","link_top_devices"],"startDate":"2026-03-29","endDate":"2026-03-29","compare":"previous_period"}`, env)
	want := [][]clickRow{
		{{"total": 4., "previous": map[string]any{"total": 2.}, "change": map[string]any{"total": 100.}}},
		{
			{"name": "desktop", "clicks": 4., "previous": map[string]any{"clicks": 0.}, "change": map[string]any{"clicks": nil}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
