package schema_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/deletion"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/privacy/tombstone"
)

// anExposure is an exposure of somebody, named by either id.
func anExposure(id, owner, profile, visitor string) *record.Event {
	return clickhousetest.AnEvent(id, clickhousetest.From(owner, profile, visitor, clickhousetest.Received),
		func(e *record.Event) {
			e.Type, e.Name = []byte(record.TypeExposure), []byte("new-nav")
			e.Exposure = &record.Exposure{
				Variant: []byte("on"), Environment: []byte("staging"), Reason: []byte("rollout"), Sample: 25,
			}
		})
}

func TestAnExposureIsStoredAsItIsTold(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	stagetest.InsertTo(t, cfg, record.TopicExposures, "1", anExposure("x_1", "web_1", "anna", ""))
	const all = "concat_ws(' ', owner_id, website_id, organization_id, name, event_id, profile_id, anonymous_id, " +
		"variant, environment, reason, toString(sample_percent), toString(received_at = event_time))"
	want := []string{"web_1 web_1 org_1 new-nav x_1 anna  on staging rollout 25 1"}
	if diff := cmp.Diff(want, clickhousetest.Column(t, cfg, all, "flag_exposures")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := clickhousetest.Column(t, cfg, "toString(count())", "usage_1d"); got[0] != "0" {
		t.Errorf("%s exposures count as events", got[0])
	}
}

func TestWhatIsErasedOfExposures(t *testing.T) {
	t.Parallel()
	hash := string(event.AppendHashedEmail(nil, []byte("web_1"), []byte("ada@example.com")))
	hidden := string(event.AppendHashedVisitor(nil, []byte("anon_1"), []byte("salt")))
	for name, tc := range map[string]struct {
		stone tombstone.Tombstone
		left  []string
	}{
		"a user":     {clickhousetest.Stone("web_1", tombstone.Profile, "anna"), []string{"b", "c", "d"}},
		"an address": {clickhousetest.Stone("web_1", tombstone.Profile, hash), []string{"a", "c", "d"}},
		"a visitor":  {clickhousetest.Stone("web_1", tombstone.Visitor, hidden), []string{"a", "b", "d"}},
		"a website":  {clickhousetest.Stone("web_1", tombstone.Website, ""), []string{"d"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := stagetest.Migrated(t)
			e := stagetest.Opened(t, deletion.NewEraser(cfg))
			stagetest.InsertTo(t, cfg, record.TopicExposures, "1",
				anExposure("a", "web_1", "anna", ""), anExposure("b", "web_1", hash, ""),
				anExposure("c", "web_1", "", hidden), anExposure("d", "web_2", "anna", ""))
			stones := []tombstone.Tombstone{tc.stone}
			if found, err := e.Count(t.Context(), stones); err != nil || found["flag_exposures"] == 0 {
				t.Fatalf("found %v, %v", found, err)
			}
			if err := e.Delete(t.Context(), stones); err != nil {
				t.Fatal(err)
			}
			if left, err := e.Left(t.Context(), stones); err != nil || len(left) > 0 {
				t.Errorf("left are %v, %v", left, err)
			}
			left := clickhousetest.Column(t, cfg, "event_id", "flag_exposures")
			slices.Sort(left)
			if diff := cmp.Diff(tc.left, left); diff != "" {
				t.Errorf("exposures left (-want +got):\n%s", diff)
			}
		})
	}
}

// An exposure of a visitor who is no user yet says nothing against the visitor being one.
func TestExposuresDoNotSayWhoseAVisitorIDIs(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	e := stagetest.Opened(t, deletion.NewEraser(cfg))
	told := clickhousetest.WebEvent("i", record.TypeIdentify, "identify",
		clickhousetest.From("web_1", "anna", "v1", clickhousetest.Received))
	stagetest.InsertTo(t, cfg, record.TopicIdentities, "1", told)
	stagetest.InsertTo(t, cfg, record.TopicExposures, "1", anExposure("a", "web_1", "", "v1"))
	anna := tombstone.IDOf(tombstone.Profile, []byte("web_1"), []byte("anna"))
	own, shared, err := e.Links(t.Context(), "web_1", anna)
	if err != nil || shared != 0 || len(own) != 1 || string(own[0]) != "v1" {
		t.Errorf("Links() = %q, %d shared, %v", own, shared, err)
	}
}
