package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
)

// keyBy adds a key that somebody made.
func (f *Fixture) keyBy(organizationID, userID string) *apikey.Key {
	f.tb.Helper()
	defer nextMillisecond()
	k, _, err := apikey.New("mlr", apikey.Spec{
		OrganizationID: organizationID, Name: "ci", Scopes: []string{"read:data"}, CreatedBy: userID,
	}, f.Clock.Now())
	if err == nil {
		err = f.Store().CreateKey(f.tb.Context(), somebody, k)
	}
	if err != nil {
		f.tb.Fatal(err)
	}
	return k
}

// entryOf returns the newest audit entry of an action in an organization.
func (f *Fixture) entryOf(organizationID, action string) audit.Entry {
	f.tb.Helper()
	all, err := f.Store().AuditEntries(f.tb.Context(),
		audit.Filter{OrganizationID: organizationID, Action: action, Limit: 1})
	if err != nil || len(all) != 1 {
		f.tb.Fatalf("AuditEntries() of %s: %d, %v", action, len(all), err)
	}
	return all[0]
}

func idsOf(keys []*apikey.Key) (ids []string) {
	for _, k := range keys {
		ids = append(ids, k.ID)
	}
	return ids
}

var departureTests = map[string]func(*testing.T, *Fixture){
	"who goes leaves the keys that they made": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		f.member(o.ID, "usr_a", org.RoleOwner)
		f.member(o.ID, "usr_b", org.RoleAdmin)
		first, second := f.keyBy(o.ID, "usr_b"), f.keyBy(o.ID, "usr_b")
		kept := []string{first.ID, second.ID}
		slices.Sort(kept) // ids of one millisecond are in no order
		revoked, deleted := f.keyBy(o.ID, "usr_b"), f.keyBy(o.ID, "usr_b")
		f.keyBy(o.ID, "usr_a")
		f.keyBy(f.Organization().ID, "usr_b")
		_, err := f.keys().Revoke(t.Context(), somebody, target(revoked))
		if err == nil {
			_, err = f.keys().Delete(t.Context(), somebody, target(deleted))
		}
		if err != nil {
			t.Fatal(err)
		}
		made, err := s.RemoveMember(t.Context(), somebody,
			org.Departure{OrganizationID: o.ID, UserID: "usr_b"}, Start, anyRole)
		if err != nil || made.Revoked || made.Total != 2 || !slices.Equal(idsOf(made.Keys), kept) {
			t.Errorf("RemoveMember() = %+v, %v, want two keys", made, err)
		}
		for _, k := range []*apikey.Key{first, second} {
			if is, err := s.KeyByID(t.Context(), k.ID); err != nil || !is.Active(Start) || is.Version != 1 {
				t.Errorf("key %+v, %v", is, err)
			}
		}
		want := map[string]audit.Change{"role": {From: "admin"}, "keptApiKeys": {To: []any{kept[0], kept[1]}}}
		if diff := cmp.Diff(want, f.entryOf(o.ID, "member.removed").Changes); diff != "" {
			t.Errorf("the entry (-want +got):\n%s", diff)
		}
	},
	"who goes can take the keys along that they made": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		f.member(o.ID, "usr_a", org.RoleOwner)
		f.member(o.ID, "usr_b", org.RoleAdmin)
		gone := []*apikey.Key{f.keyBy(o.ID, "usr_b"), f.keyBy(o.ID, "usr_b")}
		stay := []*apikey.Key{f.keyBy(o.ID, "usr_a"), f.keyBy(f.Organization().ID, "usr_b")}
		before := len(f.announced())
		later := Start.Add(time.Hour)
		made, err := s.RemoveMember(t.Context(), somebody,
			org.Departure{OrganizationID: o.ID, UserID: "usr_b", RevokeKeys: true}, later, anyRole)
		if err != nil || !made.Revoked || made.Total != 2 || !slices.Equal(idsOf(made.Keys), idsOf(gone)) {
			t.Fatalf("RemoveMember() = %+v, %v, want two keys revoked", made, err)
		}
		var want []control.Change
		for i, was := range gone {
			is, err := s.KeyByID(t.Context(), was.ID)
			if err != nil || is.Status(later) != apikey.Revoked || is.Version != 2 || !is.RevokedAt.Equal(kept(later)) ||
				!is.UpdatedAt.Equal(kept(later)) {
				t.Errorf("key %+v, %v", is, err)
			}
			if diff := cmp.Diff(is, made.Keys[i], samePrefix); diff != "" {
				t.Errorf("returned what is not kept (-want +got):\n%s", diff)
			}
			announced := apikey.Noun.Event(was, is)
			announced.At = time.Time{}
			want = append(want, announced)
		}
		if diff := cmp.Diff(want, f.announced()[before:]); diff != "" {
			t.Errorf("change events (-want +got):\n%s", diff)
		}
		for _, k := range stay {
			if is, err := s.KeyByID(t.Context(), k.ID); err != nil || !is.Active(later) {
				t.Errorf("another key is %+v, %v", is, err)
			}
		}
		entry := f.entryOf(o.ID, "member.removed").Changes
		if diff := cmp.Diff(audit.Change{To: []any{gone[0].ID, gone[1].ID}}, entry["revokedApiKeys"]); diff != "" {
			t.Errorf("the entry (-want +got):\n%s", diff)
		}
		if changes := f.entryOf(o.ID, "apikey.revoked").Changes; len(changes) != 1 || changes["revokedAt"].From != nil {
			t.Errorf("the entry of a key says %v", changes)
		}
		if n := f.count("audit_entries WHERE action = 'apikey.revoked'"); n != 2 {
			t.Errorf("%d entries of revoked keys, want 2", n)
		}
	},
	"a departure that is refused revokes no key": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		f.member(o.ID, "usr_a", org.RoleOwner)
		k := f.keyBy(o.ID, "usr_a")
		d := org.Departure{OrganizationID: o.ID, UserID: "usr_a", RevokeKeys: true}
		if _, err := s.RemoveMember(t.Context(), somebody, d, Start, anyRole); !errors.Is(err, org.ErrLastOwner) {
			t.Errorf("RemoveMember() = %v, want %v", err, org.ErrLastOwner)
		}
		if is, err := s.KeyByID(t.Context(), k.ID); err != nil || !is.Active(Start) {
			t.Errorf("the key is %+v, %v", is, err)
		}
	},
	"many keys of somebody who goes are counted and some are named": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		f.member(o.ID, "usr_a", org.RoleOwner)
		for _, more := range []int{0, 1} {
			f.member(o.ID, "usr_b", org.RoleAdmin)
			for range org.MaxNamedKeys + more {
				f.keyBy(o.ID, "usr_b")
			}
			d := org.Departure{OrganizationID: o.ID, UserID: "usr_b", RevokeKeys: true}
			made, err := s.RemoveMember(t.Context(), somebody, d, Start, anyRole)
			if err != nil || made.Total != org.MaxNamedKeys+more || len(made.Keys) != org.MaxNamedKeys {
				t.Errorf("RemoveMember() = %d of %d keys, %v", len(made.Keys), made.Total, err)
			}
			total := f.entryOf(o.ID, "member.removed").Changes["revokedApiKeysTotal"].To
			if want := map[int]any{0: nil, 1: float64(org.MaxNamedKeys + 1)}[more]; total != want {
				t.Errorf("the entry counts %v, want %v", total, want)
			}
			f.exec("DELETE FROM users WHERE id = 'usr_b'")
		}
		if n := f.count("api_keys WHERE revoked_at IS NULL"); n != 0 {
			t.Errorf("%d keys are left", n)
		}
	},
}
