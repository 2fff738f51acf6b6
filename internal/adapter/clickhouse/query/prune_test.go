package query

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/platform/config"
)

// aYear stores twelve months of four websites of two organizations, so that each has
// more than a granule of events a month.
func aYear(t *testing.T, cfg config.ClickHouse) {
	t.Helper()
	for table, each := range map[string]int{"events": 8500, "vitals": 31, "errors": 31} {
		clickhousetest.Run(t, cfg, fmt.Sprintf(`INSERT INTO %s (owner_id, website_id, organization_id, event_date, event_time, received_at, received_at_inv, name, path, event_key, event_id)
SELECT 'web_' || toString(number %% 4) AS o, o, 'org_' || toString(number %% 2), toDate('2025-01-01') + intDiv(number, 4) %% 365 AS d, toDateTime64(d, 3, 'UTC') AS at,
    at, number, if(number %% 8 < 4, 'signup', 'screen_view'), '/', cityHash64(number), toString(number)
FROM numbers(%d)`, table, 12*4*each))
	}
	clickhousetest.Run(t, cfg, `INSERT INTO clicks (link_id, organization_id, event_date, event_time, received_at, received_at_inv, click_key, click_id, country)
SELECT 'web_' || toString(number % 4), 'org_' || toString(number % 2), toDate('2025-01-01') + intDiv(number, 4) % 365 AS d, toDateTime64(d, 3, 'UTC') AS at,
    at, number, cityHash64(number), toString(number), 'AT'
FROM numbers(408000)`)
	clickhousetest.Run(t, cfg, `INSERT INTO flag_exposures (owner_id, organization_id, event_date, event_time, received_at, received_at_inv, name, event_key, event_id, profile_id, sample_percent)
SELECT 'web_' || toString(number % 4), 'org_' || toString(number % 2), toDate('2025-01-01') + intDiv(number, 4) % 365 AS d, toDateTime64(d, 3, 'UTC') AS at,
    at, number, 'checkout', cityHash64(number), toString(number), toString(number), 100
FROM numbers(408000)`)
}

// read is what a statement reads of one table.
type read struct {
	table                        string
	parts, ofParts, granules, of int
}

var (
	readFrom = regexp.MustCompile(`ReadFromMergeTree \(.*\.(\w+)\)`)
	selected = regexp.MustCompile(`(Parts|Granules): (\d+)/(\d+)`)
)

// reads asks the server which parts and granules a statement reads: of each read the
// indexes are told one after the other, and the last one leaves what is read.
func reads(t *testing.T, cfg config.ClickHouse, s *analytics.Statement) []read {
	t.Helper()
	r := NewRunner(cfg, RunnerConfig{})
	defer r.Close()
	c, err := clickhouse.Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var text proto.ColStr
	var all []read
	if err := c.Do(t.Context(), ch.Query{
		Body: "EXPLAIN indexes = 1 " + s.SQL, Parameters: parameters(s.Params), Settings: r.settingsFor(t.Context()),
		Result: proto.Results{{Name: "explain", Data: &text}},
		OnResult: func(context.Context, proto.Block) error {
			return text.ForEach(func(_ int, line string) error {
				if m := readFrom.FindStringSubmatch(line); m != nil {
					all = append(all, read{table: m[1]})
				}
				if m := selected.FindStringSubmatch(line); m != nil && len(all) > 0 {
					last := &all[len(all)-1]
					n, _ := strconv.Atoi(m[2])
					whole, _ := strconv.Atoi(m[3])
					if m[1] == "Parts" {
						last.parts, last.ofParts = n, max(last.ofParts, whole)
					} else {
						last.granules, last.of = n, max(last.of, whole)
					}
				}
				return nil
			})
		},
	}); err != nil {
		t.Fatalf("%v\n%s", err, s.SQL)
	}
	return all
}

// A question about three days of a year reads the month in which they are, and of it
// the granules of who is asked about. What is not by month is small.
func TestEveryQuestionReadsOnlyItsOwnersAndItsMonths(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	aYear(t, cfg)
	for i := range analytics.Catalog {
		typ := &analytics.Catalog[i]
		if typ.Category == "Ingestion" {
			continue // counts of its own, which nobody made here
		}
		for _, subject := range []analytics.Subject{
			{Kind: analytics.Website, ID: "web_1"},
			{Kind: analytics.Organization, ID: "org_1"},
			{Kind: analytics.Link, ID: "web_1"},
		} {
			for _, rollups := range []bool{false, true} {
				if typ.Subjects&subject.Kind == 0 || rollups && typ.Rollup == nil {
					continue
				}
				body := strings.ReplaceAll(typ.Example("x"), `"preset":"x"`, `"startDate":"2025-06-10","endDate":"2025-06-12"`)
				requests, batch, err := analytics.Decode([]byte(body))
				if err != nil {
					t.Fatal(err)
				}
				plans, err := analytics.Compile(requests, batch, analytics.Environment{
					Subject: subject, Now: time.Date(2025, 6, 12, 12, 0, 0, 0, time.UTC), Rollups: rollups,
				})
				if err != nil {
					t.Fatal(err)
				}
				large := 0
				for _, r := range reads(t, cfg, &plans[0].Statements[0]) {
					if r.ofParts >= 12 {
						large++
					}
					// A granule at each end belongs to a neighbour too; an organization has two websites.
					if r.ofParts >= 12 && (r.parts*12 > r.ofParts || r.granules > 4) {
						t.Errorf("%s of %s (rollups %v) reads %d of %d parts and %d of %d granules of %s",
							typ.Name, subject.ID, rollups, r.parts, r.ofParts, r.granules, r.of, r.table)
					}
				}
				if large == 0 {
					t.Errorf("%s of %s (rollups %v) reads nothing that is kept by the month", typ.Name, subject.ID, rollups)
				}
			}
		}
	}
}
