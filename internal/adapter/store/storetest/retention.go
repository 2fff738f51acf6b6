package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/privacy/retention"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
)

var retentionTests = map[string]func(*testing.T, *Fixture){
	"websites that keep events for a number of days are listed by id, deleted ones too": func(t *testing.T, f *Fixture) {
		s := f.Store()
		o := f.Organization()
		service := website.NewService(s, f.Clock.Now)
		target := func(w *website.Website) managed.Target { return managed.Target{OrganizationID: o.ID, Ref: w.ID} }
		var want []retention.Website
		for _, days := range []int{30, 0, 365, 7} {
			w := f.Website(o.ID)
			if _, err := service.Update(t.Context(), somebody, target(w), website.Patch{Settings: func(s *website.Settings) {
				s.DataRetentionDays = days
				s.MaskPatterns = []string{`/"dataRetentionDays":9/*`} // says nothing about days
			}}); err != nil {
				t.Fatal(err)
			}
			if days > 0 {
				want = append(want, retention.Website{ID: w.ID, Days: days})
			}
		}
		if _, err := service.Delete(t.Context(), somebody,
			managed.Target{OrganizationID: o.ID, Ref: want[1].ID}); err != nil {
			t.Fatal(err)
		}
		var got []retention.Website
		for after := ""; ; after = got[len(got)-1].ID {
			some, err := s.LimitedWebsites(t.Context(), after, 2)
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, some...); len(some) < 2 {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("websites (-want +got):\n%s", diff)
		}
	},
}
