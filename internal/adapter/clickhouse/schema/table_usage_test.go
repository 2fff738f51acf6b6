package schema_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/contract/record"
)

// Two processes may migrate at once, and one may die and start again.
func TestUsageFromBeforeTheViewIsCountedOnce(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	clickhousetest.Run(t, cfg, "DROP VIEW usage_1d_mv SYNC")
	clickhousetest.Run(t, cfg, "DROP TABLE usage_1d SYNC")
	i := stagetest.OpenInserter(t, cfg)
	before := time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)
	clickhousetest.Insert(t, i, "1", sentAt("a", "org_1", "web_1", before), sentAt("b", "org_1", "web_1", before))
	clickhousetest.Insert(t, i, "2", sentAt("b", "org_1", "web_1", before)) // twice in the base until FINAL
	for k, o := range schema.History["0004_usage"] {
		clickhousetest.Run(t, cfg, o.CreateSQL(""))
		if k == 1 { // what comes after the view is counted by it alone
			clickhousetest.Insert(t, i, "3", sentAt("c", "org_1", "web_1", time.Now().Add(time.Minute)))
		}
	}
	if diff := cmp.Diff([]string{"3"}, clickhousetest.Column(t, cfg, "sum(events)", "usage_1d")); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	for _, o := range schema.History["0004_usage"] {
		clickhousetest.Run(t, cfg, o.CreateSQL(""))
	}
	if diff := cmp.Diff([]string{"3"}, clickhousetest.Column(t, cfg, "sum(events)", "usage_1d")); diff != "" {
		t.Errorf("usage after the migration was run again (-want +got):\n%s", diff)
	}
}

// sent makes an event of an organization and owner that was received then, and
// took place long before.
func sentAt(id, organization, owner string, at time.Time) *record.Event {
	return clickhousetest.AnEvent(id, func(e *record.Event) {
		e.Organization, e.Owner, e.Website = []byte(organization), []byte(owner), []byte(owner)
		e.ReceivedAt = at.UnixMilli()
	})
}
