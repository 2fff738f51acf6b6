package clickhouse

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/verify"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/privacy/tombstone"
	"github.com/millrace/millrace/internal/resource/link"
)

// aClick returns a plain click of lnk_1; change it as a test needs.
func aClick(id string, change ...func(*record.Event)) *record.Event {
	e := &record.Event{
		Version: 2, ID: []byte(id), Organization: []byte("org_1"), Owner: []byte("lnk_1"), Type: []byte(record.TypeClick), Name: []byte(record.TypeClick),
		TimeMillis: noon, ReceivedAt: noon, Click: &record.Click{Link: []byte("lnk_1"), Status: 302},
	}
	for _, f := range change {
		f(e)
	}
	return e
}

// someClicks are random clicks of one day of a link, with values drawn from few.
func someClicks(r *rand.Rand, owner string, day int64, n int) []*record.Event {
	one := func(of ...string) []byte { return []byte(of[r.IntN(len(of))]) }
	all := make([]*record.Event, n)
	for i := range all {
		all[i] = aClick(fmt.Sprint(day, " ", i), func(e *record.Event) {
			e.Owner, e.TimeMillis = []byte(owner), day*record.MillisPerDay+r.Int64N(record.MillisPerDay)
			w := new(record.Web)
			w.Texts[record.Country], w.Texts[record.Region], w.Texts[record.City] = one("", "AT", "DE"), one("", "Styria"), one("", "Graz", "Wien", "Linz")
			w.Texts[record.Device], w.Texts[record.Browser] = one("mobile", "desktop"), one("Firefox", "")
			w.Texts[record.ReferrerHost], w.Texts[record.ReferrerName] = one("", "google.com", "example.org"), one("", "Google")
			e.Web = w
			e.Click.Visitor, e.Click.RuleID, e.Click.VariantID = one("", "a", "b", "c", "d"), one("", "rul_1"), one("", "var_1", "var_2")
			e.Click.IsQR, e.Click.IsBot = r.IntN(3) == 0, r.IntN(4) == 0
		})
	}
	return all
}

// clicking inserts random clicks of a link of the id of browsed's website, on the same days.
func clicking(t *testing.T, cfg config.ClickHouse, days int) []ledger.Touched {
	t.Helper()
	r, touched := rand.New(rand.NewPCG(11, 12)), make([]ledger.Touched, days)
	for n := range touched {
		day := noon/record.MillisPerDay - int64(n)
		insertTo(t, cfg, record.TopicClicks, fmt.Sprint("clicks ", n), someClicks(r, "web_1", day, 150)...)
		touched[n] = ledger.Touched{Owner: "web_1", Day: int32(day)}
	}
	return touched
}

func TestAClickIsStoredAsItsRecordTellsIt(t *testing.T) {
	t.Parallel()
	cfg := migrated(t)
	insertTo(t, cfg, record.TopicClicks, "1", aClick("a", func(e *record.Event) {
		e.Click = &record.Click{
			Link: e.Owner, Visitor: []byte("v"), RuleID: []byte("rul_1"), VariantID: []byte("var_1"), BotReason: []byte("prefetch"), IsQR: true, IsBot: true, Status: 307,
		}
		e.Web = new(record.Web)
		for _, text := range clickTexts {
			e.Web.Texts[text] = []byte(webTexts[text].name)
		}
	}), aClick("b", func(e *record.Event) { e.Click = nil }))
	const told = "[link_id, owner_id, organization_id, name, click_id, visitor, country, region, city, device, os, browser, language, referrer_host, referrer_kind, " +
		"referrer_name, utm_source, utm_medium, utm_campaign, utm_term, utm_content, rule_id, variant_id, toString(is_qr), toString(is_bot), bot_reason, toString(status)]"
	want := []string{
		"['lnk_1','lnk_1','org_1','click','a','v','country','region','city','device','os','browser','language','referrer_host','referrer_kind'," +
			"'referrer_name','utm_source','utm_medium','utm_campaign','utm_term','utm_content','rul_1','var_1','1','1','prefetch','307']",
		"['lnk_1','lnk_1','org_1','click','b','','','','','','','','','','','','','','','','','','','0','0','','0']",
	}
	if diff := cmp.Diff(want, column(t, cfg, "toString("+told+")", "clicks")); diff != "" {
		t.Errorf("clicks (-want +got):\n%s", diff)
	}
	if got := column(t, cfg, "toString(click_key = event_key)", "clicks"); !slices.Equal(got, []string{"1", "1"}) {
		t.Errorf("event_key is another name of click_key: %v", got)
	}
	if got := column(t, cfg, "toString(sum(events))", "usage_1d"); got[0] != "0" {
		t.Errorf("%s clicks count as events", got[0])
	}
}

func TestAClickThatComesTwiceIsOne(t *testing.T) {
	t.Parallel()
	cfg := migrated(t)
	for _, insertToken := range []string{"1", "1"} {
		insertTo(t, cfg, record.TopicClicks, insertToken, aClick("a"), aClick("b"))
	}
	counts := func() []string {
		return slices.Concat(column(t, cfg, "toString(count())", "clicks FINAL"), column(t, cfg, "toString(sum(clicks))", "clicks_15m WHERE dimension = 'total'"),
			column(t, cfg, "toString(sum(clicks))", "clicks_1d WHERE dimension = 'target'"))
	}
	if diff := cmp.Diff([]string{"2", "2", "2"}, counts()); diff != "" {
		t.Errorf("under one token (-want +got):\n%s", diff)
	}
	insertTo(t, cfg, record.TopicClicks, "2", aClick("a", func(e *record.Event) { e.ReceivedAt++ }))
	if diff := cmp.Diff([]string{"2", "3", "3"}, counts()); diff != "" {
		t.Errorf("under another one, which the rollups count (-want +got):\n%s", diff)
	}
	pair := []ledger.Touched{{Owner: "lnk_1", Day: record.Day(noon)}}
	b := newLedgerStore(t, cfg)
	if got, err := b.Count(t.Context(), record.TopicClicks, pair); err != nil || got[0].Base != 2 || got[0].Quarters != 3 || got[0].Days != 3 {
		t.Errorf("counted are %+v, %v", got, err)
	}
	if got, err := b.Differing(t.Context(), pair); err != nil || !slices.Equal(got, pair) {
		t.Errorf("days that differ: %v, %v", got, err)
	}
}

// Each day has a fault of its own, as in the test of the rollups of events.
func TestTheRollupsOfClicksAreHeldAgainstThemAndMadeAnew(t *testing.T) {
	t.Parallel()
	cfg := migrated(t)
	filled := []string{"clicks_15m WHERE dimension = 'total'", "clicks_15m WHERE dimension = 'city'", "clicks_1d WHERE dimension = 'target'", "clicks_1d WHERE dimension = 'device'"}
	b, days := newLedgerStore(t, cfg), clicking(t, cfg, 2*len(filled)+1)
	for i, rows := range filled {
		at := func(d ledger.Touched) string {
			return fmt.Sprintf(" AND owner_id = '%s' AND event_date = toDate(%d)", d.Owner, d.Day)
		}
		table, _, _ := strings.Cut(rows, " ")
		run(t, cfg, "DELETE FROM "+rows+at(days[2*i]))
		run(t, cfg, "INSERT INTO "+table+" SELECT * FROM "+rows+at(days[2*i+1]))
	}
	differ := func(want []ledger.Touched) {
		t.Helper()
		found, err := b.Differing(t.Context(), days)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(found)
		if diff := cmp.Diff(want, found, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("days that differ (-want +got):\n%s", diff)
		}
	}
	differ(days[:2*len(filled)])
	if err := b.Rebuild(t.Context(), days); err != nil {
		t.Fatal(err)
	}
	differ(nil)
}

func TestClicksAreVerifiedAsEventsAre(t *testing.T) {
	t.Parallel()
	cfg := migrated(t)
	insertTo(t, cfg, record.TopicClicks, "1", aClick("a"), aClick("b"))
	b := newLedgerStore(t, cfg)
	var rows []verify.Row
	keep := func(r *verify.Row) { rows = append(rows, *r) }
	day := record.Day(noon)
	if err := b.Rows(t.Context(), verify.Range{Topic: record.TopicClicks, Partition: 3, From: 0, To: 1000}, []int32{day}, keep); err != nil || len(rows) != 2 {
		t.Fatalf("rows %+v, %v", rows, err)
	}
	r := rows[0]
	if r.Owner != "lnk_1" || r.Name != record.TypeClick || r.Day != day || r.Received != noon {
		t.Errorf("a row is %+v", r)
	}
	key := verify.Key{Owner: r.Owner, Day: day, EventKey: r.EventKey}
	unknown := verify.Key{Owner: r.Owner, Day: day, EventKey: r.EventKey + 1}
	if known, err := b.Known(t.Context(), "clicks", []verify.Key{key, unknown}); err != nil || !slices.Equal(known, []verify.Key{key}) {
		t.Errorf("known are %v, %v", known, err)
	}
	if seen, err := b.Visible(t.Context(), "clicks", []verify.Row{r, {Owner: "lnk_2", Name: r.Name, Day: day}}); err != nil || !slices.Equal(seen, []bool{true, false}) {
		t.Errorf("visible are %v, %v", seen, err)
	}
	strays := 0
	q := &verify.StrayQuery{Table: "clicks", Topics: []string{record.TopicClicks}, Since: 0, Until: noon + 1}
	if err := b.Strays(t.Context(), q, func(*verify.Row) { strays++ }); err != nil || strays != 2 {
		t.Errorf("%d strays, %v", strays, err)
	}
}

func TestALinkLeavesNoClicks(t *testing.T) {
	t.Parallel()
	cfg := migrated(t)
	insertTo(t, cfg, record.TopicClicks, "1", aClick("a"), aClick("b", func(e *record.Event) { e.Owner = []byte("lnk_2") }))
	e := newEraser(t, cfg)
	stones := []tombstone.Tombstone{stone("lnk_1", tombstone.Website, "")}
	if found, err := e.Count(t.Context(), stones); err != nil || found["clicks"] != 1 {
		t.Errorf("found %v, %v", found, err)
	}
	if err := e.Delete(t.Context(), stones); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"clicks", "clicks_15m", "clicks_1d"} {
		if got := slices.Compact(column(t, cfg, "owner_id", table)); !slices.Equal(got, []string{"lnk_2"}) {
			t.Errorf("%s has clicks of %v", table, got)
		}
	}
}

func TestLinkClicksAreCountedAlsoOfDaysThatRollupsCannotAnswerFor(t *testing.T) {
	t.Parallel()
	cfg := migrated(t)
	of := func(owner string, bot bool, at int64) func(*record.Event) {
		return func(e *record.Event) { e.Owner, e.TimeMillis, e.Click.IsBot = []byte(owner), at, bot }
	}
	insertTo(t, cfg, record.TopicClicks, "1", aClick("a"), aClick("b", of("lnk_1", false, noon-1000)), aClick("c", of("lnk_1", true, noon+1)),
		aClick("d", of("lnk_2", false, noon)), aClick("e", of("lnk_3", true, noon)), aClick("f", of("lnk_1", false, noon-record.MillisPerDay)))
	insertTo(t, cfg, record.TopicClicks, "2", aClick("a"))
	clicks := NewLinkClicks(cfg)
	t.Cleanup(func() { clicks.Close() })
	count := func(first int64) {
		t.Helper()
		got, err := clicks.LinkClicks(t.Context(), []string{"lnk_1", "lnk_3", "lnk_4", `l'\`})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]link.Clicks{"lnk_1": {Count: first, Last: time.UnixMilli(noon).UTC()}}, got); diff != "" {
			t.Errorf("clicks (-want +got):\n%s", diff)
		}
	}
	count(4) // with the one that came twice
	run(t, cfg, listDays+"('lnk_1', '2026-03-31', 'over', 0)")
	count(3)
}
