package query

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/resource/link"
)

func TestLinkClicksAreCountedAlsoOfDaysThatRollupsCannotAnswerFor(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	of := func(owner string, bot bool, at int64) func(*record.Event) {
		return func(e *record.Event) { e.Owner, e.TimeMillis, e.Click.IsBot = []byte(owner), at, bot }
	}
	stagetest.InsertTo(t, cfg, record.TopicClicks, "1", clickhousetest.AClick("a"),
		clickhousetest.AClick("b", of("lnk_1", false, clickhousetest.Noon-1000)),
		clickhousetest.AClick("c", of("lnk_1", true, clickhousetest.Noon+1)),
		clickhousetest.AClick("d", of("lnk_2", false, clickhousetest.Noon)),
		clickhousetest.AClick("e", of("lnk_3", true, clickhousetest.Noon)),
		clickhousetest.AClick("f", of("lnk_1", false, clickhousetest.Noon-record.MillisPerDay)))
	stagetest.InsertTo(t, cfg, record.TopicClicks, "2", clickhousetest.AClick("a"))
	clicks := NewLinkClicks(cfg)
	t.Cleanup(func() { clicks.Close() })
	count := func(first int64) {
		t.Helper()
		got, err := clicks.LinkClicks(t.Context(), []string{"lnk_1", "lnk_3", "lnk_4", `l'\`})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(
			map[string]link.Clicks{"lnk_1": {Count: first, Last: time.UnixMilli(clickhousetest.Noon).UTC()}}, got); diff != "" {
			t.Errorf("clicks (-want +got):\n%s", diff)
		}
	}
	count(4) // with the one that came twice
	clickhousetest.Run(t, cfg, listDays+"('lnk_1', '2026-03-31', 'over', 0)")
	count(3)
}
