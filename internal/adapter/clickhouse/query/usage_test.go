package query

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/tenant/quota"
)

// sent makes an event of an organization and owner that was received then, and
// took place long before.
func sent(id, organization, owner string, at time.Time) *record.Event {
	return clickhousetest.AnEvent(id, func(e *record.Event) {
		e.Organization, e.Owner, e.Website = []byte(organization), []byte(owner), []byte(owner)
		e.ReceivedAt = at.UnixMilli()
	})
}

func newUsage(t *testing.T) (*Usage, func(insertToken string, events ...*record.Event)) {
	t.Helper()
	cfg := stagetest.Migrated(t)
	u, i := NewUsage(cfg), stagetest.OpenInserter(t, cfg)
	t.Cleanup(func() { u.Close() })
	return u, func(insertToken string, events ...*record.Event) { clickhousetest.Insert(t, i, insertToken, events...) }
}

// A block of one month of events may hold two months of receipt.
func TestUsageIsOfTheUTCMonthOfReceipt(t *testing.T) {
	t.Parallel()
	u, put := newUsage(t)
	turn := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	for range 2 { // the second time under a token that is known
		put("1",
			sent("a", "org_1", "web_1", turn.Add(-time.Millisecond)), sent("b", "org_1", "web_1", turn),
			sent("c", "org_1", "web_2", turn.Add(24*time.Hour)),
			sent("d", "org_2", "web_3", turn.Add(30*24*time.Hour-time.Millisecond)),
			sent("e", "org_2", "web_3", turn.Add(30*24*time.Hour)))
	}
	for month, want := range map[quota.Month]map[string]int64{
		"2026-02": {}, "2026-03": {"org_1": 1}, "2026-04": {"org_1": 2, "org_2": 1}, "2026-05": {"org_2": 1},
	} {
		got, err := u.Used(t.Context(), month)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("Used(%s): %v (-want +got):\n%s", month, err, diff)
		}
	}
}

func TestCellsAreOfOneOrganizationByOwnerAndDay(t *testing.T) {
	t.Parallel()
	u, put := newUsage(t)
	first := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	second, odd := first.Add(24*time.Hour), `o'rg\`
	put("1", sent("a", odd, "web_1", first), sent("b", odd, "web_1", second), sent("c", odd, odd, second),
		sent("d", "org_2", "web_1", first))
	put("2", sent("e", odd, "web_1", second.Add(time.Hour)))
	all := []quota.Cell{
		{OwnerID: odd, Day: second, Events: 1},
		{OwnerID: "web_1", Day: first, Events: 1},
		{OwnerID: "web_1", Day: second, Events: 2},
	}
	for _, tc := range []struct {
		organization, owner string
		month               quota.Month
		want                []quota.Cell
	}{
		{odd, "", "2026-04", all},
		{odd, "web_1", "2026-04", all[1:]},
		{odd, odd, "2026-04", all[:1]},
		{odd, "", "2026-03", nil},
		{"", "", "2026-04", nil},
		{"org_2", odd, "2026-04", nil},
	} {
		got, err := u.Cells(t.Context(), tc.organization, tc.owner, tc.month)
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("Cells(%q, %q, %s): %v (-want +got):\n%s", tc.organization, tc.owner, tc.month, err, diff)
		}
	}
}
