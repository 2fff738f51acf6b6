package privacy_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/tests/harness/stage"
)

// neverOfWebsites are the tables whose owner_id is a link's, or is written beside what is
// stored.
var neverOfWebsites = []string{
	schema.Clicks.Name, schema.Clicks15m.Name, schema.Clicks1d.Name,
	schema.RollupDirty.Name, schema.Exclusions.Name, schema.Tombstones.Name,
}

// fillWebsite stores what makes rows of a website in every table that can have any, and
// one of another website beside each. It returns how many of them count as usage.
func (o *office) fillWebsite(websiteID string) (usage uint64) {
	o.t.Helper()
	o.Produce(o.t,
		stage.Event{ID: "w1", Owner: websiteID, Profile: "anna"}, stage.Event{ID: "w2", Owner: websiteID},
		stage.Event{ID: "w2", Owner: websiteID}, // a duplicate
		stage.Event{ID: "w3", Owner: websiteID, As: record.TypePageView},
		stage.Event{ID: "b1", Profile: "ben"})
	for _, topic := range append(slices.Collect(maps.Keys(told)), record.TopicIngestion) {
		o.Produce(o.t, stage.Event{Topic: topic, ID: "w4", Owner: websiteID, Profile: "anna"},
			stage.Event{Topic: topic, ID: "b1", Profile: "ben"})
	}
	o.Store(o.t)
	o.storeTold()
	before := strings.Join(found(o.t, o.ClickHouse, websiteID), "\n")
	for i := range schema.Tables {
		table := &schema.Tables[i]
		if table.Has("owner_id") && !slices.Contains(neverOfWebsites, table.Name) &&
			!strings.Contains(before, " "+table.Name+".owner_id ") {
			o.t.Fatalf("the website is not in %s before it is erased; the test shows nothing", table.Name)
		}
	}
	return 4 + 2 + 2 // events, vitals, errors
}

func TestAWebsiteIsErasedWhenNobodyCanRestoreIt(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	websites := website.NewService(o.db, nil)
	spec := website.Spec{OrganizationID: o.org.ID, Name: "Shop", Domain: "shop.example"}
	w, err := websites.Create(t.Context(), tester, spec)
	if err != nil {
		t.Fatal(err)
	}
	sent := o.fillWebsite(w.ID)
	if _, err := websites.Delete(t.Context(), tester, managed.Target{OrganizationID: o.org.ID, Ref: w.ID}); err != nil {
		t.Fatal(err)
	}
	o.now = time.Now().Add(website.RestoreFor - time.Minute)
	o.work()
	if diff := cmp.Diff([]string{"b1", "w1", "w2", "w3"}, o.events()); diff != "" {
		t.Fatalf("events before the restore period is over (-want +got):\n%s", diff)
	}
	o.now = time.Now().Add(website.RestoreFor + time.Hour + time.Minute)
	o.work()
	for range 2 {
		o.holds("b1")
		o.toldOnly(func(string) string { return "b1" })
		for _, place := range found(t, o.ClickHouse, w.ID, "visitor of w") {
			// The id says that a website was there. A replay lists its days as dirty.
			if !strings.Contains(place, "ingest_ledger.owners") && !strings.Contains(place, "ingest_ledger.share_owners") &&
				!strings.Contains(place, "tombstones.owner_id") && !strings.Contains(place, "rollup_dirty.owner_id") {
				t.Error(place)
			}
		}
		o.replay()
		o.replayTold(record.TopicIngestion)
	}
	if _, err := o.db.AnyWebsite(t.Context(), w.ID); !errors.Is(err, website.ErrNotFound) {
		t.Errorf("the website's record: %v", err)
	}
	if n := o.Count(t, "(SELECT sum(events) FROM usage_1d)"); n < sent {
		t.Errorf("the organization's usage is %d events, and %d were sent", n, sent)
	}
	var actions []string
	entries, err := o.db.AuditEntries(t.Context(), audit.Filter{OrganizationID: o.org.ID})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		actions = append(actions, e.Action)
	}
	slices.Sort(actions)
	want := []string{"erasure.completed", "erasure.requested", "website.created", "website.deleted", "website.purged"}
	if diff := cmp.Diff(want,
		slices.DeleteFunc(actions, func(a string) bool { return strings.HasPrefix(a, "organization.") })); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}
