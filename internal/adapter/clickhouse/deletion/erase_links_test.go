package deletion

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/contract/record"
)

// clickOfLink is a click as the sink has it.
func clickOfLink(id, link string) *record.Event {
	return clickhousetest.WebEvent(id, record.TypeClick, record.TypeClick, func(e *record.Event) {
		e.Owner, e.Website = []byte(link), nil
		e.Click = &record.Click{Link: []byte(link), Visitor: []byte("v"), Status: 302}
	})
}

func TestClicksOfLinksAreErasedAndDoNotComeBack(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	e := stagetest.Opened(t, NewEraser(cfg))
	stagetest.InsertTo(t, cfg, record.TopicClicks, "1",
		clickOfLink("a", "lnk_1"), clickOfLink("b", "lnk_1"), clickOfLink("c", "lnk_2"), clickOfLink("d", "lnk_3"))
	for range 2 { // a second time changes nothing
		if err := e.EraseLinks(t.Context(), []string{"lnk_1", "lnk_3", "lnk_without_clicks"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range clickTables {
		got := clickhousetest.Column(t, cfg, "owner_id", table.Name)
		slices.Sort(got)
		if diff := cmp.Diff([]string{"lnk_2"}, slices.Compact(got)); diff != "" {
			t.Errorf("%s has clicks of (-want +got):\n%s", table.Name, diff)
		}
	}
	got := clickhousetest.Column(t, cfg, "owner_id", "tombstones FINAL")
	slices.Sort(got)
	if diff := cmp.Diff([]string{"lnk_1", "lnk_3"}, got); diff != "" {
		t.Errorf("tombstones (-want +got):\n%s", diff)
	}
}

// A table that is made of clicks is one that clicks are erased from.
func TestEveryTableOfClicksIsErasedFrom(t *testing.T) {
	t.Parallel()
	want := []string{schema.Clicks.Name}
	for i := range schema.Views {
		if v := &schema.Views[i]; v.From == schema.Clicks.Name && !slices.Contains(want, v.To) {
			want = append(want, v.To)
		}
	}
	var got []string
	for _, table := range clickTables {
		got = append(got, table.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-made +erased):\n%s", diff)
	}
}
