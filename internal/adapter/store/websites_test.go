package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/privacy/retention"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

// A row of which something cannot be read must not take the others along where nobody
// asks for that.
func TestWebsitesWhoseSettingsCannotBeReadAreListedLimitedAndErased(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *Store) {
		t.Helper()
		now := time.Now()
		o := &org.Organization{ID: "org_1", Name: "Acme", CreatedAt: now, UpdatedAt: now}
		if err := s.CreateOrganization(t.Context(), audit.BySystem(), o); err != nil {
			t.Fatal(err)
		}
		want := []string{"web_0", "web_1", "web_2"}
		for _, id := range want {
			w := &website.Website{
				Record:   managed.Record{ID: id, OrganizationID: o.ID, Name: "Shop", CreatedAt: now, UpdatedAt: now},
				ClientID: id,
				Domain:   id + ".example",
			}
			w.AllowedOrigins = []string{"https://" + w.Domain}
			if err := s.CreateWebsite(t.Context(), audit.BySystem(), w); err != nil {
				t.Fatal(err)
			}
		}
		for id, broken := range map[string]string{
			"web_1": "allowed_origins = '[{}]'", "web_2": `settings = '{"keepBots":7}'`,
		} {
			s.exec(t, fmt.Sprintf("UPDATE websites SET %s WHERE id = '%s'", broken, id))
			if _, err := s.ListWebsites(t.Context(), website.Filter{OrganizationID: o.ID, ID: id}); err == nil {
				t.Errorf("%s is read with %s", id, broken)
			}
		}
		found, err := s.ListWebsites(t.Context(), website.Filter{OrganizationID: o.ID, Brief: true})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range found {
			got = append(got, w.ID)
			if w.Name != "Shop" || w.Domain != w.ID+".example" || w.CreatedAt.IsZero() || len(w.AllowedOrigins) > 0 {
				t.Errorf("listed is %+v", w)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("listed are %v, want %v", got, want)
		}
		// Nor do they keep what websites no longer keep.
		for id, settings := range map[string]string{
			"web_0": `{"dataRetentionDays":"30"}`, "web_1": `{"dataRetentionDays":-30}`,
			"web_2": `{"keepBots":7,"dataRetentionDays":30}`,
		} {
			s.exec(t, fmt.Sprintf("UPDATE websites SET settings = '%s' WHERE id = '%s'", settings, id))
		}
		limited, err := s.LimitedWebsites(t.Context(), "", len(want)+1)
		if days := []retention.Website{{ID: "web_0"}, {ID: "web_1"}, {ID: "web_2", Days: 30}}; err != nil ||
			!slices.Equal(limited, days) {
			t.Errorf("events are kept as %v, error %v, want %v", limited, err, days)
		}
		// Nor do they keep the erasure of what was deleted waiting.
		s.exec(t, "UPDATE websites SET deleted_at = created_at")
		gone, err := s.DeletedWebsites(t.Context(), now, len(want)+1)
		if err != nil || len(gone) != len(want) {
			t.Errorf("deleted are %d, error %v, want %v", len(gone), err, want)
		}
	})
}
