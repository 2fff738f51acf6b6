package analyticstest_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/analytics/analyticstest"
)

// A website that was moved is the organization's to which it was, whatever was stored
// when: what came before counts for the one, and is seen by the other.
func TestAMovedWebsiteIsSeenWhereItBelongsToday(t *testing.T) {
	t.Parallel()
	var all []analyticstest.Event
	for i, e := range []struct{ organization, website, path string }{
		{"org_1", "web_1", "/before"},
		{"org_2", "web_1", "/after"},
		{"org_1", "web_2", "/stays"},
		{"org_2", "web_3", "/other"},
	} {
		id := strconv.Itoa(i)
		all = append(all, analyticstest.Event{
			Kind: "identity", Name: "identify", Organization: e.organization, Website: e.website, ID: "i" + id,
			Time:       at("03-29 09:00:00"),
			ReceivedAt: at("03-30 00:00:00"), AnonymousID: "v" + id, ProfileID: "p" + id, Properties: `{"plan":"pro"}`, Exit: -1,
		}, analyticstest.Event{
			Name: "screen_view", Organization: e.organization, Website: e.website, ID: id, Time: at("03-29 10:00:00"),
			ReceivedAt: at("03-30 00:00:00"),
			SessionID:  "s" + id, AnonymousID: "v" + id, ProfileID: "p" + id, Path: e.path, Exit: -1,
		})
	}
	s := newServer(t, all)
	for _, tc := range []struct {
		subject analytics.Subject
		want    []string
	}{
		// as it would be told without the move
		{analytics.Organized("org_1", nil, nil), []string{"/after", "/before", "/stays"}},
		{analytics.Organized("org_1", []string{"web_1"}, nil), []string{"/stays"}},
		{analytics.Organized("org_2", nil, []string{"web_1"}), []string{"/after", "/before", "/other"}},
		{analytics.Organized("org_3", nil, []string{"web_1"}), []string{"/after", "/before"}}, // where nothing came yet
		{analytics.Organized("org_3", []string{"web_9"}, nil), nil},
	} {
		for _, filters := range []string{"", `,"filters":[{"field":"trait:plan","op":"eq","value":"pro"}]`} {
			for _, rollups := range []bool{false, true} {
				env, _ := subject(false)
				env.Subject, env.Now, env.Rollups = tc.subject, at("03-29 20:00:00"), rollups
				var got []string
				for _, row := range s.ask(t, `{"parameters":["top_pages"],"preset":"today"`+filters+`}`, env)[0] {
					got = append(got, fmt.Sprint(row["name"]))
				}
				slices.Sort(got)
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%+v%s, rollups %t (-want +got):\n%s", tc.subject, filters, rollups, diff)
				}
				s.ask(t, `{"parameters":["ingestion_health"],"preset":"today"}`, env)
			}
		}
	}
}
