package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/quota"
)

// use counts events of a month under a limit.
func use(month quota.Month, used, limit int64) func(*quota.Quota) quota.Outcome {
	return func(q *quota.Quota) quota.Outcome { return q.Count(month, used, limit, Start) }
}

var quotaTests = map[string]func(*testing.T, *Fixture){
	"a quota is unset, set, read back and unset": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		want := quota.Quota{OrganizationID: o.ID, Own: quota.Default}
		if got, err := s.QuotaOf(t.Context(), o.ID); err != nil || *got != want {
			t.Errorf("QuotaOf() at first = %+v, %v", got, err)
		}
		for _, events := range []int64{1, quota.MaxEvents, quota.Unlimited, quota.Default} {
			want.Own = events
			got, err := s.SetQuota(t.Context(), somebody, o.ID, events, Start)
			if err != nil || *got != want {
				t.Errorf("SetQuota(%d) = %+v, %v", events, got, err)
			}
			if got, err := s.QuotaOf(t.Context(), o.ID); err != nil || *got != want {
				t.Errorf("QuotaOf() after %d = %+v, %v", events, got, err)
			}
		}
		if diff := cmp.Diff([]control.Change{}, f.announced()); diff != "" {
			t.Errorf("setting a quota decides nothing (-want +got):\n%s", diff)
		}
		if n := f.count("audit_entries WHERE action = 'organization.updated'"); n != 4 {
			t.Errorf("%d audit entries, want 4", n)
		}
		if _, err := s.SetQuota(t.Context(), somebody, o.ID, quota.Default, Start); err != nil {
			t.Error(err)
		}
		if n := f.count("audit_entries WHERE action = 'organization.updated'"); n != 4 {
			t.Errorf("%d audit entries after a change of nothing, want 4", n)
		}
		if _, err := s.SetQuota(t.Context(), somebody, o.ID, -2, Start); err == nil {
			t.Error("SetQuota(-2) succeeded")
		}
	},
	"a decision is kept with its change event, and with nothing else": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		if _, err := s.SetQuota(t.Context(), somebody, o.ID, 10, Start); err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct {
			month       quota.Month
			used, limit int64
			want        quota.Quota
			changes     int
		}{
			{"2026-03", 7, 10, quota.Quota{Month: "2026-03", Used: 7}, 0},
			{"2026-03", 8, 10, quota.Quota{Month: "2026-03", Used: 8, Noticed: 80}, 0},
			{"2026-03", 10, 10, quota.Quota{Month: "2026-03", Used: 10, Noticed: 100, Exceeded: true, Version: 1}, 1},
			{"2026-03", 11, 10, quota.Quota{Month: "2026-03", Used: 11, Noticed: 100, Exceeded: true, Version: 1}, 1},
			{"2026-04", 0, 10, quota.Quota{Month: "2026-04", Version: 2}, 2},
		} {
			if err := s.CountQuota(t.Context(), o.ID, Start, use(tc.month, tc.used, tc.limit)); err != nil {
				t.Fatal(err)
			}
			tc.want.OrganizationID, tc.want.Own, tc.want.CountedAt = o.ID, 10, kept(Start)
			all, err := s.Quotas(t.Context())
			if diff := cmp.Diff([]quota.Quota{tc.want}, all); diff != "" || err != nil {
				t.Errorf("Quotas() after %d: %v (-want +got):\n%s", tc.used, err, diff)
			}
			if n := len(f.announced()); n != tc.changes {
				t.Errorf("%d change events after %d, want %d", n, tc.used, tc.changes)
			}
		}
		want := []control.Change{
			{Kind: control.Quota, ID: o.ID, OrganizationID: o.ID, Version: 1, State: `{"month":"2026-03","exceeded":true}`},
			{Kind: control.Quota, ID: o.ID, OrganizationID: o.ID, Version: 2, State: `{"month":"2026-04","exceeded":false}`},
		}
		if diff := cmp.Diff(want, f.announced()); diff != "" {
			t.Errorf("change events (-want +got):\n%s", diff)
		}
		want[1].At = kept(Start)
		states, err := s.QuotaStates(t.Context())
		if diff := cmp.Diff(control.Snapshot{Epoch: 1, States: want[1:]}, states); diff != "" || err != nil {
			t.Errorf("QuotaStates(): %v (-want +got):\n%s", err, diff)
		}
	},
	"what was never decided is no state": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		if err := s.CountQuota(t.Context(), o.ID, Start, use("2026-03", 8, 10)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.QuotaStates(t.Context()); err != nil || len(got.States) != 0 {
			t.Errorf("QuotaStates() = %+v, %v", got, err)
		}
	},
	"counters of several processes decide once": func(t *testing.T, f *Fixture) {
		o := f.Organization()
		var wg sync.WaitGroup
		for range 4 {
			s := f.Open()
			wg.Go(func() {
				for n := range int64(10) {
					if err := s.CountQuota(t.Context(), o.ID, Start, use("2026-03", n, 5)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		q, err := f.Store().QuotaOf(t.Context(), o.ID)
		if err != nil || q.Version != 1 || q.Used != 9 || !q.Exceeded {
			t.Errorf("QuotaOf() = %+v, %v", q, err)
		}
		if n := len(f.announced()); n != 1 {
			t.Errorf("%d change events, want 1", n)
		}
	},
	"an organization that is no more has no quota": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		if err := s.CountQuota(t.Context(), o.ID, Start, use("2026-03", 5, 5)); err != nil {
			t.Fatal(err)
		}
		if err := s.PurgeOrganization(t.Context(), somebody, o.ID, Start); err != nil {
			t.Fatal(err)
		}
		_, errOf := s.QuotaOf(t.Context(), o.ID)
		_, errSet := s.SetQuota(t.Context(), somebody, o.ID, 1, Start)
		errCount := s.CountQuota(t.Context(), o.ID, Start, use("2026-03", 5, 5))
		for _, err := range []error{errOf, errSet, errCount} {
			if !errors.Is(err, quota.ErrNotFound) {
				t.Errorf("%v, want %v", err, quota.ErrNotFound)
			}
		}
		if got, err := s.QuotaStates(t.Context()); err != nil || len(got.States) != 0 {
			t.Errorf("QuotaStates() = %+v, %v", got, err)
		}
	},
	"owners are told apart from other members": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		for id, role := range map[string]org.Role{"usr_1": org.RoleOwner, "usr_2": org.RoleAdmin, "usr_3": org.RoleOwner} {
			f.User(id, id+"@example.com")
			if err := s.AddMember(t.Context(), somebody,
				&org.Member{OrganizationID: o.ID, UserID: id, Role: role, CreatedAt: Start}); err != nil {
				t.Fatal(err)
			}
		}
		name, got, err := s.Owners(t.Context(), o.ID)
		if diff := cmp.Diff([]string{"usr_1@example.com", "usr_3@example.com"}, got); diff != "" ||
			err != nil || name != o.Name {
			t.Errorf("Owners() of %q: %v (-want +got):\n%s", name, err, diff)
		}
	},
	"a decision that cannot be kept announces nothing": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		ctx, cancel := context.WithCancel(t.Context())
		err := s.CountQuota(ctx, o.ID, Start, func(q *quota.Quota) quota.Outcome {
			defer cancel()
			return q.Count("2026-03", 5, 5, Start)
		})
		if err == nil {
			t.Error("a count whose time is over succeeded")
		}
		if n := len(f.announced()); n != 0 {
			t.Errorf("%d change events of a decision that was not kept", n)
		}
		q, err := s.QuotaOf(t.Context(), o.ID)
		if err != nil || q.Exceeded {
			t.Errorf("QuotaOf() = %+v, %v", q, err)
		}
	},
}
