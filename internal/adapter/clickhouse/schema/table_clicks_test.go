package schema_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/deletion"
	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/verify"
	"github.com/millrace/millrace/internal/privacy/tombstone"
)

func TestAClickIsStoredAsItsRecordTellsIt(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	stagetest.InsertTo(t, cfg, record.TopicClicks, "1", clickhousetest.AClick("a", func(e *record.Event) {
		e.Click = &record.Click{
			Link: e.Owner, Visitor: []byte("v"), RuleID: []byte("rul_1"), VariantID: []byte("var_1"),
			BotReason: []byte("prefetch"), IsQR: true, IsBot: true, Status: 307,
		}
		e.Web = new(record.Web)
		for _, text := range schema.ClickTexts {
			e.Web.Texts[text] = []byte(schema.WebTextColumn(text))
		}
	}), clickhousetest.AClick("b", func(e *record.Event) { e.Click = nil }))
	const told = "[link_id, owner_id, organization_id, name, click_id, visitor, country, region, city, device, os, " +
		"browser, language, referrer_host, referrer_kind, " +
		"referrer_name, utm_source, utm_medium, utm_campaign, utm_term, utm_content, rule_id, variant_id, " +
		"toString(is_qr), toString(is_bot), bot_reason, toString(status)]"
	want := []string{
		"['lnk_1','lnk_1','org_1','click','a','v','country','region','city','device','os','browser'," +
			"'language','referrer_host','referrer_kind'," +
			"'referrer_name','utm_source','utm_medium','utm_campaign','utm_term','utm_content'," +
			"'rul_1','var_1','1','1','prefetch','307']",
		"['lnk_1','lnk_1','org_1','click','b','','','','','','','','','','','','','','','','','','','0','0','','0']",
	}
	if diff := cmp.Diff(want, clickhousetest.Column(t, cfg, "toString("+told+")", "clicks")); diff != "" {
		t.Errorf("clicks (-want +got):\n%s", diff)
	}
	if got := clickhousetest.Column(t, cfg,
		"toString(click_key = event_key)", "clicks"); !slices.Equal(got, []string{"1", "1"}) {
		t.Errorf("event_key is another name of click_key: %v", got)
	}
	if got := clickhousetest.Column(t, cfg, "toString(sum(events))", "usage_1d"); got[0] != "0" {
		t.Errorf("%s clicks count as events", got[0])
	}
}

func TestAClickThatComesTwiceIsOne(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	for _, insertToken := range []string{"1", "1"} {
		stagetest.InsertTo(t, cfg, record.TopicClicks, insertToken, clickhousetest.AClick("a"), clickhousetest.AClick("b"))
	}
	counts := func() []string {
		return slices.Concat(clickhousetest.Column(t, cfg, "toString(count())", "clicks FINAL"),
			clickhousetest.Column(t, cfg, "toString(sum(clicks))", "clicks_15m WHERE dimension = 'total'"),
			clickhousetest.Column(t, cfg, "toString(sum(clicks))", "clicks_1d WHERE dimension = 'target'"))
	}
	if diff := cmp.Diff([]string{"2", "2", "2"}, counts()); diff != "" {
		t.Errorf("under one token (-want +got):\n%s", diff)
	}
	stagetest.InsertTo(t, cfg, record.TopicClicks, "2",
		clickhousetest.AClick("a", func(e *record.Event) { e.ReceivedAt++ }))
	if diff := cmp.Diff([]string{"2", "3", "3"}, counts()); diff != "" {
		t.Errorf("under another one, which the rollups count (-want +got):\n%s", diff)
	}
	pair := []ledger.Touched{{Owner: "lnk_1", Day: record.Day(clickhousetest.Noon)}}
	b := stagetest.Opened(t, ledgerstore.NewStore(cfg))
	if got, err := b.Count(t.Context(), record.TopicClicks, pair); err != nil || got[0].Base != 2 ||
		got[0].Quarters != 3 || got[0].Days != 3 {
		t.Errorf("counted are %+v, %v", got, err)
	}
	if got, err := b.Differing(t.Context(), pair); err != nil || !slices.Equal(got, pair) {
		t.Errorf("days that differ: %v, %v", got, err)
	}
}

// Each day has a fault of its own, as in the test of the rollups of events.
func TestTheRollupsOfClicksAreHeldAgainstThemAndMadeAnew(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	filled := []string{
		"clicks_15m WHERE dimension = 'total'", "clicks_15m WHERE dimension = 'city'", "clicks_1d WHERE dimension = 'target'",
		"clicks_1d WHERE dimension = 'device'",
	}
	b, days := stagetest.Opened(t, ledgerstore.NewStore(cfg)), stagetest.Clicking(t, cfg, 2*len(filled)+1)
	for i, rows := range filled {
		at := func(d ledger.Touched) string {
			return fmt.Sprintf(" AND owner_id = '%s' AND event_date = toDate(%d)", d.Owner, d.Day)
		}
		table, _, _ := strings.Cut(rows, " ")
		clickhousetest.Run(t, cfg, "DELETE FROM "+rows+at(days[2*i]))
		clickhousetest.Run(t, cfg, "INSERT INTO "+table+" SELECT * FROM "+rows+at(days[2*i+1]))
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
	cfg := stagetest.Migrated(t)
	stagetest.InsertTo(t, cfg, record.TopicClicks, "1", clickhousetest.AClick("a"), clickhousetest.AClick("b"))
	b := stagetest.Opened(t, ledgerstore.NewStore(cfg))
	var rows []verify.Row
	keep := func(r *verify.Row) { rows = append(rows, *r) }
	day := record.Day(clickhousetest.Noon)
	if err := b.Rows(t.Context(), verify.Range{Topic: record.TopicClicks, Partition: 3, From: 0, To: 1000},
		[]int32{day}, keep); err != nil || len(rows) != 2 {
		t.Fatalf("rows %+v, %v", rows, err)
	}
	r := rows[0]
	if r.Owner != "lnk_1" || r.Name != record.TypeClick || r.Day != day || r.Received != clickhousetest.Noon {
		t.Errorf("a row is %+v", r)
	}
	key := verify.Key{Owner: r.Owner, Day: day, EventKey: r.EventKey}
	unknown := verify.Key{Owner: r.Owner, Day: day, EventKey: r.EventKey + 1}
	if known, err := b.Known(t.Context(), "clicks", []verify.Key{key, unknown}); err != nil ||
		!slices.Equal(known, []verify.Key{key}) {
		t.Errorf("known are %v, %v", known, err)
	}
	if seen, err := b.Visible(t.Context(), "clicks",
		[]verify.Row{r, {Owner: "lnk_2", Name: r.Name, Day: day}}); err != nil || !slices.Equal(seen, []bool{true, false}) {
		t.Errorf("visible are %v, %v", seen, err)
	}
	strays := 0
	q := &verify.StrayQuery{
		Table: "clicks", Topics: []string{record.TopicClicks}, Since: 0, Until: clickhousetest.Noon + 1,
	}
	if err := b.Strays(t.Context(), q, func(*verify.Row) { strays++ }); err != nil || strays != 2 {
		t.Errorf("%d strays, %v", strays, err)
	}
}

func TestALinkLeavesNoClicks(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	stagetest.InsertTo(t, cfg, record.TopicClicks, "1", clickhousetest.AClick("a"),
		clickhousetest.AClick("b", func(e *record.Event) { e.Owner = []byte("lnk_2") }))
	e := stagetest.Opened(t, deletion.NewEraser(cfg))
	stones := []tombstone.Tombstone{clickhousetest.Stone("lnk_1", tombstone.Website, "")}
	if found, err := e.Count(t.Context(), stones); err != nil || found["clicks"] != 1 {
		t.Errorf("found %v, %v", found, err)
	}
	if err := e.Delete(t.Context(), stones); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"clicks", "clicks_15m", "clicks_1d"} {
		if got := slices.Compact(clickhousetest.Column(t, cfg, "owner_id", table)); !slices.Equal(got, []string{"lnk_2"}) {
			t.Errorf("%s has clicks of %v", table, got)
		}
	}
}
