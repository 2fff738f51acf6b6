package query

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
)

var _ analytics.DirtyDays = (*DirtyDays)(nil)

// clock is a time that a test sets.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func newDirtyDays(t *testing.T, cfg config.ClickHouse) (*DirtyDays, *clock) {
	t.Helper()
	d, c := NewDirtyDays(cfg), &clock{t: time.Now()}
	d.now = c.now
	t.Cleanup(func() { d.Close() })
	return d, c
}

const listDays = "INSERT INTO rollup_dirty (owner_id, event_date, reason, cleared) VALUES "

// saysOf asks about a subject and compares the days.
func saysOf(t *testing.T, d *DirtyDays, s analytics.Subject, want ...string) {
	t.Helper()
	days, err := d.DirtyDays(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, day := range days {
		got = append(got, day.Format(time.RFC3339))
	}
	for i := range want {
		want[i] += "T00:00:00Z"
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("dirty days of %s (-want +got):\n%s", s.ID, diff)
	}
}

func website(id string) analytics.Subject {
	return analytics.Subject{Kind: analytics.Website, ID: id}
}

// subjectOf is what a type is about: a link, or else a website.
func subjectOf(t *analytics.Type, id string) analytics.Subject {
	if t.Subjects == analytics.Link {
		return analytics.Subject{Kind: analytics.Link, ID: id}
	}
	return website(id)
}

func TestDirtyDaysOfAWebsiteAndOfAnOrganization(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	i := stagetest.OpenInserter(t, cfg)
	of := func(owner, org string) func(*record.Event) {
		return func(e *record.Event) { e.Owner, e.Organization = []byte(owner), []byte(org) }
	}
	clickhousetest.Insert(t, i, "1", clickhousetest.AnEvent("a", of("web_1", "org_1")),
		clickhousetest.AnEvent("b", of("web_2", "org_1")), clickhousetest.AnEvent("c", of("web_3", "o'org\\")))
	clickhousetest.Run(t, cfg, listDays+
		"('web_2', '2026-03-05', 'over', 0), ('web_1', '2026-03-05', 'over', 0), ('web_1', '2026-03-01', 'over', 0),"+
		"('org_1', '2026-02-01', 'over', 0), ('web_1', '2026-03-02', 'over', 1), ('web_3', '2026-01-01', 'over', 0)")
	d, _ := newDirtyDays(t, cfg)
	saysOf(t, d, website("web_1"), "2026-03-01", "2026-03-05")
	saysOf(t, d, website("web_2"), "2026-03-05")
	saysOf(t, d, website("web_4"))
	for range 2 { // the second time from memory
		saysOf(t, d, analytics.Subject{Kind: analytics.Organization, ID: "org_1"}, "2026-02-01", "2026-03-01", "2026-03-05")
	}
	saysOf(t, d, analytics.Subject{Kind: analytics.Organization, ID: "o'org\\"}, "2026-01-01")
	saysOf(t, d, analytics.Subject{Kind: analytics.Organization, ID: "org_2"})
	// Moved websites take their days along.
	saysOf(t, d, analytics.Organized("org_1", []string{"web_1"}, nil), "2026-02-01", "2026-03-05")
	saysOf(t, d, analytics.Organized("org_2", nil, []string{"web_1", "web_2"}), "2026-03-01", "2026-03-05")
}

func TestAListOfDirtyDaysIsUsedForFiveSeconds(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	d, clock := newDirtyDays(t, cfg)
	saysOf(t, d, website("web_1"))
	clickhousetest.Run(t, cfg, listDays+"('web_1', '2026-03-05', 'over', 0)")
	clock.pass(dirtyFresh - 1)
	saysOf(t, d, website("web_1"))
	clock.pass(1)
	saysOf(t, d, website("web_1"), "2026-03-05")
	clickhousetest.Run(t, cfg, listDays+"('web_1', '2026-03-05', 'over', 1), ('web_1', '2026-03-06', 'over', 0)")
	clock.pass(dirtyFresh)
	saysOf(t, d, website("web_1"), "2026-03-06")

	// A list that has not changed is not read again.
	before := d.known
	clock.pass(dirtyFresh)
	saysOf(t, d, website("web_1"), "2026-03-06")
	if d.known == before || !sameMap(d.known, before) {
		t.Error("a list that has not changed was read again, or its owners of organizations were kept")
	}
}

// sameMap tells whether two lists share what was read.
func sameMap(a, b *dirtyList) bool {
	a.owners["mark"] = nil
	defer delete(a.owners, "mark")
	_, same := b.owners["mark"]
	return same
}

func TestAListOfDirtyDaysThatCannotBeReadIsUsedForAMinute(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	d, clock := newDirtyDays(t, cfg)
	clickhousetest.Run(t, cfg, listDays+"('web_1', '2026-03-05', 'over', 0)")
	saysOf(t, d, website("web_1"), "2026-03-05")
	clickhousetest.Run(t, cfg, "RENAME TABLE rollup_dirty TO elsewhere")
	clock.pass(dirtyStale - time.Millisecond)
	saysOf(t, d, website("web_1"), "2026-03-05")
	clock.pass(time.Millisecond)
	for range 2 { // the second time without asking
		if days, err := d.DirtyDays(t.Context(), website("web_1")); err == nil {
			t.Errorf("after a minute the days are %v, want an error", days)
		}
	}
	clickhousetest.Run(t, cfg, "RENAME TABLE elsewhere TO rollup_dirty")
	if days, err := d.DirtyDays(t.Context(), website("web_1")); err == nil {
		t.Errorf("the days are %v right after an error, which asks again at once", days)
	}
	clock.pass(time.Second)
	saysOf(t, d, website("web_1"), "2026-03-05")
}

func TestWhoeverAsksAtOnceAboutDirtyDaysGetsTheSame(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	clickhousetest.Run(t, cfg, listDays+"('web_1', '2026-03-05', 'over', 0)")
	d, _ := newDirtyDays(t, cfg)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if days, err := d.DirtyDays(t.Context(), website("web_1")); err != nil || len(days) != 1 {
				t.Errorf("DirtyDays() = %v, %v; want one day", days, err)
			}
		})
	}
	wg.Wait()
}

func TestWhoeverGoesAwayDoesNotEndWhatOthersWaitFor(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	d, _ := newDirtyDays(t, cfg)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.DirtyDays(gone, website("web_1")); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("DirtyDays() = %v, want %v", err, context.Canceled)
	}
	saysOf(t, d, website("web_1"))
}
