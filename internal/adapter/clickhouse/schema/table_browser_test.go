package schema_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
)

func TestEveryTopicOfEventsHasATable(t *testing.T) {
	t.Parallel()
	for topic := range schema.BaseOf {
		if record.Schema(topic) == "" || schema.TableOf(topic) == "" {
			t.Errorf("%s is no topic of events", topic)
		}
	}
	for _, topic := range []string{
		record.TopicEvents, record.TopicEventsBackfill, record.TopicVitals, record.TopicErrors, record.TopicIdentities,
		record.TopicIngestion, record.TopicClicks, record.TopicExposures,
	} {
		if schema.TableOf(topic) == "" {
			t.Errorf("%s has no table", topic)
		}
	}
	for _, table := range schema.Bases {
		if diff := cmp.Diff(schema.Events.OrderBy, identityOf(table)); diff != "" ||
			table.PartitionBy != schema.Events.PartitionBy || table.Engine != schema.Events.Engine {
			t.Errorf("%s has another identity than events:\n%s", table.Name, diff)
		}
		names := map[string]bool{}
		for _, c := range table.Columns {
			names[c.Name] = true
			if c.Native == nil && c.Alias == "" {
				t.Errorf("%s.%s has no column in blocks", table.Name, c.Name)
			}
		}
		for _, name := range []string{
			"owner_id", "event_date", "name", "event_key", "event_time", "received_at", "_topic", "_partition", "_offset",
		} {
			if !names[name] {
				t.Errorf("%s lacks %s", table.Name, name)
			}
		}
	}
}

// identityOf is a table's sort key in the names that events have for it. What is the same
// in all of its rows may be left out of it.
func identityOf(table *schema.Table) []string {
	var identity []string
	for _, name := range schema.Events.OrderBy {
		i := slices.IndexFunc(table.Columns, func(c schema.Column) bool { return c.Name == name })
		alias := table.Columns[i].Alias
		if slices.Contains(table.OrderBy, name) || slices.Contains(table.OrderBy, alias) || strings.HasPrefix(alias, "'") {
			identity = append(identity, name)
		}
	}
	return identity
}

// TestEveryFieldOfTheWebHasAColumn fills each field with a value of its own.
func TestEveryFieldOfTheWebHasAColumn(t *testing.T) {
	t.Parallel()
	e := clickhousetest.WebEvent("e", record.TypePageView, "screen_view", func(e *record.Event) {
		for n := range record.NumWebTexts {
			e.Web.Texts[n] = fmt.Appendf(nil, "t%d", n)
		}
		for n := range record.NumWebNumbers {
			e.Web.Set(record.WebNumber(n), float64(n+1))
		}
	})
	cfg := stagetest.Migrated(t)
	for table, topic := range map[*schema.Table]string{
		&schema.Events: record.TopicEvents, &schema.Errors: record.TopicErrors, &schema.Vitals: record.TopicVitals,
	} {
		stagetest.InsertTo(t, cfg, topic, table.Name, e)
		for n := range record.NumWebTexts {
			for _, c := range table.Columns {
				if c.Name == schema.WebTextColumn(record.WebText(n)) {
					if got := clickhousetest.Column(t, cfg, "toString("+c.Name+")", table.Name)[0]; got != fmt.Sprintf("t%d", n) {
						t.Errorf("%s.%s is %s, want t%d", table.Name, c.Name, got, n)
					}
				}
			}
		}
		for n := range record.NumWebNumbers {
			for _, c := range table.Columns {
				if c.Name == schema.WebNumberColumn(record.WebNumber(n)) {
					if got := clickhousetest.Column(t, cfg, "toString("+c.Name+")", table.Name)[0]; got != strconv.Itoa(n+1) {
						t.Errorf("%s.%s is %s, want %d", table.Name, c.Name, got, n+1)
					}
				}
			}
		}
	}
	for n := range record.NumWebTexts {
		found := false
		for _, table := range schema.Bases {
			for _, c := range table.Columns {
				found = found || c.Name == schema.WebTextColumn(record.WebText(n))
			}
		}
		if !found {
			t.Errorf("no table has %s", schema.WebTextColumn(record.WebText(n)))
		}
	}
}

func TestAZeroIsToldFromNone(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	stagetest.InsertTo(t, cfg, record.TopicEvents, "1",
		clickhousetest.AnEvent("plain"),
		clickhousetest.WebEvent("none", record.TypePageExit, "page_exit"),
		clickhousetest.WebEvent("zero", record.TypePageExit, "page_exit",
			func(e *record.Event) { e.Web.Set(record.TimeOnPage, 0) }),
		clickhousetest.WebEvent("huge", record.TypePageExit, "page_exit", func(e *record.Event) {
			e.Web.Set(record.TimeOnPage, 1e300)
			e.Web.Set(record.Interactions, -5)
			e.Web.Set(record.PageCount, 1e12)
		}),
		clickhousetest.AnEvent("plain again"))
	stagetest.InsertTo(t, cfg, record.TopicEvents, "2", clickhousetest.AnEvent("plain alone"))
	got := clickhousetest.Column(t, cfg,
		"concat(event_id, ' ', toString(bitTest(measured, 3)), ' ', toString(time_on_page), ' ', toString(interactions), "+
			"' ', toString(page_count), ' ', browser)",
		"events")
	want := []string{
		"huge 1 3.4028235e38 0 4294967295 ", "none 0 0 0 0 ", "plain 0 0 0 0 ", "plain again 0 0 0 0 ",
		"plain alone 0 0 0 0 ", "zero 1 0 0 0 ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// identify tells of a user.
func identify(id, profile, visitor, traits string, at int64) *record.Event {
	return clickhousetest.AnEvent(id, func(e *record.Event) {
		e.Type, e.Name = []byte(record.TypeIdentify), []byte("identify")
		e.ProfileID, e.AnonymousID, e.Properties, e.TimeMillis, e.ReceivedAt = []byte(profile),
			[]byte(visitor), []byte(traits), at, at
	})
}

func TestWhatIsKnownOfUsersIsWhatWasToldLast(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	told := [][]*record.Event{
		{
			identify("1", "u1", "v1", `{"plan":"free","seats":3,"name":"Ann"}`, clickhousetest.Noon),
			identify("2", "u1", "v2", `{"plan":"pro","seats":null}`, clickhousetest.Noon+1),
		},
		{
			identify("3", "u2", "v1", ``, clickhousetest.Noon+2),
			identify("4", "u1", "", `{"plan":"old"}`, clickhousetest.Noon-1),
			identify("5", "u2", "v3", `{}`, clickhousetest.Noon+3),
		},
		{
			identify("6", "u3", "v9", `{"k":1}`, clickhousetest.Noon), identify("7", "u3", "v9", `{"k":2}`, clickhousetest.Noon),
			identify("8", "u4", "v9", `{"k":[1,{"a":"b"}]}`, clickhousetest.Noon),
		},
	}
	// Everything comes twice, the second time in another order and under other tokens.
	for i, all := range told {
		stagetest.InsertTo(t, cfg, record.TopicIdentities, fmt.Sprint("1:", i), all[:len(all)-1]...)
		stagetest.InsertTo(t, cfg, record.TopicIdentities, fmt.Sprint("1:b", i),
			append(append([]*record.Event{}, all[:len(all)-1]...), all[len(all)-1])...)
	}
	for i := range told {
		stagetest.InsertTo(t, cfg, record.TopicIdentities, fmt.Sprint("2:", i), told[len(told)-1-i]...)
	}
	got := clickhousetest.Column(t, cfg,
		"concat(profile_id, ' ', organization_id, ' ', toString(toUnixTimestamp64Milli(min(first_seen))), ' ', "+
			"toString(toUnixTimestamp64Milli(max(last_seen))))",
		"profiles GROUP BY profile_id, organization_id")
	want := []string{
		fmt.Sprintf("u1 org_1 %d %d", clickhousetest.Noon-1, clickhousetest.Noon+1),
		fmt.Sprintf("u2 org_1 %d %d", clickhousetest.Noon+2, clickhousetest.Noon+3),
		fmt.Sprintf("u3 org_1 %d %d", clickhousetest.Noon, clickhousetest.Noon),
		fmt.Sprintf("u4 org_1 %d %d", clickhousetest.Noon, clickhousetest.Noon),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("profiles (-want +got):\n%s", diff)
	}
	got = clickhousetest.Column(t, cfg, "concat(profile_id, '.', trait, '=', value)", "profile_traits FINAL")
	if diff := cmp.Diff(
		[]string{`u1.name="Ann"`, `u1.plan="pro"`, "u1.seats=null", "u3.k=2", `u4.k=[1,{"a":"b"}]`}, got); diff != "" {
		t.Errorf("traits (-want +got):\n%s", diff)
	}
	got = clickhousetest.Column(t, cfg, "concat(anonymous_id, ' is ', profile_id)", "aliases FINAL")
	if diff := cmp.Diff([]string{"v1 is u2", "v2 is u1", "v3 is u2", "v9 is u4"}, got); diff != "" {
		t.Errorf("aliases (-want +got):\n%s", diff)
	}
}

func vital(id string, value float64) *record.Event {
	return clickhousetest.WebEvent(id, record.TypeVital, "LCP", func(e *record.Event) { e.Web.Set(record.Value, value) })
}

func anError(id string) *record.Event {
	return clickhousetest.WebEvent(id, record.TypeError, "TypeError", func(e *record.Event) {
		e.Web.Texts[record.Message] = []byte("m")
		e.AnonymousID, e.SessionID = []byte("v"), []byte("s")
	})
}

func TestRollupsOfVitalsAndErrorsAgreeUnderRetries(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	b := ledgerstore.NewStore(cfg)
	t.Cleanup(func() { _ = b.Close() })
	for range 3 {
		stagetest.InsertTo(t, cfg, record.TopicVitals, "1", vital("a", 100), vital("b", 300))
		stagetest.InsertTo(t, cfg, record.TopicErrors, "1", anError("a"), anError("b"))
	}
	got := clickhousetest.Column(t, cfg, "concat(name, ' ', toString(sum(samples)), ' ', toString(sum(total)))",
		"vitals_15m GROUP BY name")
	if diff := cmp.Diff([]string{"LCP 2 400"}, got); diff != "" {
		t.Errorf("vitals_15m (-want +got):\n%s", diff)
	}
	pairs := []ledger.Touched{{Owner: "web_1", Day: record.Day(clickhousetest.Noon)}}
	for topic, want := range map[string]uint64{
		record.TopicErrors: 2, record.TopicIdentities: 0, record.TopicIngestion: 0,
	} {
		counts, err := b.Count(t.Context(), topic, pairs)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]ledger.Counts{{Base: want, Quarters: want, Days: want}}, counts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", topic, diff)
		}
	}
	stagetest.InsertTo(t, cfg, record.TopicErrors, "2", anError("a")) // beyond the window
	counts, err := b.Count(t.Context(), record.TopicErrors, pairs)
	if err != nil {
		t.Fatal(err)
	}
	if v := ledger.Judge(counts[0], counts[0]); v != ledger.Over {
		t.Errorf("after a duplicate the verdict is %s: %+v", v, counts)
	}
	differ, err := b.Differing(t.Context(), pairs)
	if err != nil || len(differ) != 1 {
		t.Errorf("Differing() = %v, %v", differ, err)
	}
	if err := b.Rebuild(t.Context(), pairs); err != nil {
		t.Fatal(err)
	}
	if differ, err := b.Differing(t.Context(), pairs); err != nil || len(differ) != 0 {
		t.Errorf("after a rebuild Differing() = %v, %v", differ, err)
	}
	if counts, err := b.Count(t.Context(), "", pairs); err != nil ||
		counts[0] != (ledger.Counts{Base: 4, Quarters: 4, Days: 4}) {
		t.Errorf("all together: %+v, %v", counts, err)
	}
	if got := clickhousetest.Column(t, cfg, "toString(quantilesTDigestMerge(0.5, 0.75, 0.9, 0.95, 0.99)(quantiles)[2])",
		"vitals_15m")[0]; got == "" || strings.HasPrefix(got, "nan") {
		t.Errorf("the 75th percentile is %s", got)
	}
}

func TestVitalsAndErrorsCountForQuotasAndIdentitiesDoNot(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	stagetest.InsertTo(t, cfg, record.TopicVitals, "1", vital("a", 1), vital("b", 2))
	stagetest.InsertTo(t, cfg, record.TopicErrors, "1", anError("a"))
	stagetest.InsertTo(t, cfg, record.TopicEvents, "1", clickhousetest.AnEvent("a"))
	stagetest.InsertTo(t, cfg, record.TopicIdentities, "1", identify("a", "u", "v", "{}", clickhousetest.Noon))
	stagetest.InsertTo(t, cfg, record.TopicIngestion, "1",
		clickhousetest.WebEvent("c", record.TypeIngestion, "accepted", func(e *record.Event) { e.Web.Set(record.Value, 40) }))
	if got := clickhousetest.Column(t, cfg, "toString(sum(events))", "usage_1d"); got[0] != "4" {
		t.Errorf("usage is %s, want 4", got[0])
	}
	if got := clickhousetest.Column(t, cfg, "concat(name, ' ', toString(events))",
		"ingestion_1m FINAL"); got[0] != "accepted 40" {
		t.Errorf("counts: %v", got)
	}
}
