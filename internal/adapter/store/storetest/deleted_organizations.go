package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/privacy/erasure"
	"github.com/millrace/millrace/internal/privacy/tombstone"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/quota"
	"github.com/millrace/millrace/internal/tenant/token"
	"github.com/millrace/millrace/internal/tenant/website"
)

func anyName(*org.Organization) error { return nil }

// delete deletes an organization at a time.
func (f *Fixture) delete(id string, at time.Time) *org.Deletion {
	f.tb.Helper()
	d, err := f.Store().DeleteOrganization(f.tb.Context(), somebody, id, 0, at, anyName)
	if err != nil {
		f.tb.Fatal(err)
	}
	return d
}

var deletedOrganizationTests = map[string]func(*testing.T, *Fixture){
	"nothing of a deleted organization is found, and all of one that is restored": func(t *testing.T, f *Fixture) {
		s, o, other := f.Store(), f.Organization(), f.Organization()
		f.member(o.ID, "usr_a", org.RoleOwner)
		f.join(other.ID, "usr_a", org.RoleViewer)
		f.session(&org.User{ID: "usr_a", PasswordHash: "$argon2id$…"}, "ses_a", Start)
		w, k, gone := f.Website(o.ID), f.Key(o.ID, ""), f.Key(o.ID, "")
		if _, err := f.keys().Revoke(t.Context(), somebody, target(gone)); err != nil {
			t.Fatal(err)
		}
		l := f.link(f.links(10), o.ID, link.Fields{ExternalID: new("x")})
		f.invite(o.ID, "b@example.com", org.RoleViewer, "")
		there := func(when string, want bool) {
			t.Helper()
			all, errAll := s.ListOrganizations(t.Context())
			memberships, errMemberships := s.ListMemberships(t.Context(), "usr_a")
			_, _, members, errSession := s.SessionByHash(t.Context(), token.HashOf("ses_a"))
			people, errPeople := s.ListPeople(t.Context(), o.ID, "", 0)
			if err := errors.Join(errAll, errMemberships, errSession, errPeople); err != nil {
				t.Fatal(err)
			}
			_, errOwn := s.OrganizationByID(t.Context(), o.ID)
			_, errID := s.WebsiteByID(t.Context(), w.ID)
			_, errClient := s.WebsiteByClientID(t.Context(), w.ClientID)
			_, errKey := s.KeyByHash(t.Context(), k.Hash)
			_, errLink := s.LinkByID(t.Context(), l.ID)
			_, errSlug := s.LinkByKey(t.Context(), o.ID, l.Slug)
			_, errExternal := s.LinkByExternalID(t.Context(), o.ID, "x")
			for what, found := range map[string]bool{
				"organization": !errors.Is(errOwn, org.ErrNotFound), "website": !errors.Is(errID, website.ErrNotFound),
				"client id": !errors.Is(errClient, website.ErrNotFound), "key": !errors.Is(errKey, apikey.ErrNotFound),
				"link": !errors.Is(errLink, link.ErrNotFound), "slug": !errors.Is(errSlug, link.ErrNotFound),
				"external id":        !errors.Is(errExternal, link.ErrNotFound),
				"place of a session": len(members) == 2, "place": len(memberships) == 2, "member": len(people) == 1,
				"in the list": slices.ContainsFunc(all, func(x *org.Organization) bool { return x.ID == o.ID }),
			} {
				if found != want {
					t.Errorf("%s: the %s is found: %t", when, what, found)
				}
			}
			if len(memberships) == 0 || len(members) == 0 {
				t.Errorf("%s: the other organization is not found", when)
			}
		}
		there("before", true)
		d := f.delete(o.ID, Start)
		want := &org.Deletion{Members: 1, Websites: 1, APIKeys: 1, Links: 1, RestorableUntil: kept(Start).Add(org.RestoreFor)}
		if diff := cmp.Diff(want, d); diff != "" {
			t.Errorf("DeleteOrganization() (-want +got):\n%s", diff)
		}
		there("deleted", false)
		if _, err := s.DeleteOrganization(t.Context(), somebody, o.ID, 0, Start, anyName); !errors.Is(err, org.ErrNotFound) {
			t.Errorf("DeleteOrganization() again = %v", err)
		}
		if n := f.count("invitations"); n != 0 {
			t.Errorf("%d invitations are left", n)
		}
		back, err := s.RestoreOrganization(t.Context(), somebody, o.ID, "usr_a", Start.Add(time.Hour))
		if err != nil || !back.DeletedAt.IsZero() || back.Version != 3 {
			t.Errorf("RestoreOrganization() = %+v, %v", back, err)
		}
		there("restored", true)
		if _, err := s.RestoreOrganization(t.Context(), somebody, o.ID, "usr_a", Start); !errors.Is(err, org.ErrNotDeleted) {
			t.Errorf("RestoreOrganization() again = %v", err)
		}
		announced := f.announced()
		for i, gone := range []bool{true, false} {
			if n := announced[len(announced)-2+i]; n.ID != o.ID || n.Gone != gone || n.Version != int64(i+2) {
				t.Errorf("change event %+v, want gone: %t", n, gone)
			}
		}
	},
	"what a caller's right rests on ends with the organization": func(_ *testing.T, f *Fixture) {
		o := f.Organization()
		f.member(o.ID, "usr_a", org.RoleOwner)
		u := &org.User{ID: "usr_a", PasswordHash: "$argon2id$…"}
		f.session(u, "ses_a", Start)
		k := f.Key(o.ID, "")
		person := audit.Grant{OrganizationID: o.ID, UserID: "usr_a", SessionID: "ses_a"}
		key := audit.Grant{OrganizationID: o.ID, KeyID: k.ID, KeyHash: k.Hash}
		f.finds("before, the owner", person, audit.Standing{Good: true, Role: "owner"})
		f.finds("before, the key", key, audit.Standing{Good: true, Scopes: k.Scopes})
		f.delete(o.ID, Start)
		f.finds("after, the owner", person, audit.Standing{Good: true})
		f.finds("after, the key", key, audit.Standing{Scopes: k.Scopes})
	},
	"only who owned an organization restores it, and not for ever": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		f.member(o.ID, "usr_a", org.RoleOwner)
		f.member(o.ID, "usr_b", org.RoleAdmin)
		f.User("usr_c", "c@example.com")
		d := f.delete(o.ID, Start)
		last := d.RestorableUntil.Add(-time.Millisecond)
		for _, tc := range []struct {
			user string
			at   time.Time
			want error
		}{
			{"usr_b", Start, org.ErrNotFound},
			{"usr_c", Start, org.ErrNotFound},
			{"usr_a", d.RestorableUntil, org.ErrNotFound},
			{"usr_a", last, nil},
		} {
			if _, err := s.RestoreOrganization(t.Context(), somebody, o.ID, tc.user, tc.at); !errors.Is(err, tc.want) {
				t.Errorf("RestoreOrganization() by %s at %s = %v, want %v", tc.user, tc.at, err, tc.want)
			}
		}
		f.delete(o.ID, Start)
		for user, want := range map[string]int{"usr_a": 1, "usr_b": 0} {
			memberships, err := s.DeletedMemberships(t.Context(), user, kept(Start).Add(-time.Millisecond))
			if err != nil || len(memberships) != want ||
				want == 1 && (memberships[0].OrganizationID != o.ID || !memberships[0].DeletedAt.Equal(kept(Start))) {
				t.Errorf("DeletedMemberships(%s) = %+v, %v", user, memberships, err)
			}
		}
		if memberships, err := s.DeletedMemberships(t.Context(), "usr_a", kept(Start)); err != nil || len(memberships) != 0 {
			t.Errorf("DeletedMemberships() past the time = %+v, %v", memberships, err)
		}
	},
	"a deletion that is refused leaves everything": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		f.invite(o.ID, "b@example.com", org.RoleViewer, "")
		no := func(*org.Organization) error { return errStop }
		if _, err := s.DeleteOrganization(t.Context(), somebody, o.ID, 0, Start, no); !errors.Is(err, errStop) {
			t.Errorf("DeleteOrganization() = %v", err)
		}
		if _, err := s.DeleteOrganization(t.Context(), somebody, o.ID,
			7, Start, anyName); !errors.Is(err, managed.ErrChanged) {
			t.Errorf("DeleteOrganization() of another version = %v", err)
		}
		if _, err := s.OrganizationByID(t.Context(), o.ID); err != nil || f.count("invitations") != 1 {
			t.Errorf("OrganizationByID() = %v, %d invitations", err, f.count("invitations"))
		}
	},
	"usage is counted while an organization may be restored": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		f.delete(o.ID, Start)
		if err := s.CountQuota(t.Context(), o.ID, Start, use("2026-03", 5, quota.Unlimited)); err != nil {
			t.Errorf("CountQuota() = %v", err)
		}
	},
	"a deleted organization is erased after its websites, and goes with its erasure": func(t *testing.T, f *Fixture) {
		s, o, stays := f.Store(), f.Organization(), f.Organization()
		f.member(o.ID, "usr_a", org.RoleOwner)
		w, other := f.Website(o.ID), f.Website(stays.ID)
		f.delete(o.ID, Start)
		at := kept(Start)
		due := func(by time.Time) (websites, organizations []string) {
			t.Helper()
			found, err := s.DeletedWebsites(t.Context(), by, 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range found {
				websites = append(websites, w.ID)
			}
			if organizations, err = s.DeletedOrganizations(t.Context(), by, 10); err != nil {
				t.Fatal(err)
			}
			return websites, organizations
		}
		expect := func(when string, by time.Time, wantWebsites, wantOrganizations []string) {
			t.Helper()
			if websites, organizations := due(by); !slices.Equal(websites, wantWebsites) ||
				!slices.Equal(organizations, wantOrganizations) {
				t.Errorf("%s: websites %v and organizations %v are due, want %v and %v",
					when, websites, organizations, wantWebsites, wantOrganizations)
			}
		}
		erase := func(id, ownerID string) {
			t.Helper()
			e := anErasure(id, o.ID, ownerID, tombstone.Website)
			if err := s.CreateErasure(t.Context(), audit.BySystem(), e); err != nil {
				t.Fatal(err)
			}
			expect("being erased", at, nil, nil)
			e.State, e.DoneAt = erasure.Done, at
			if err := s.SaveErasure(t.Context(), e, Start); err != nil {
				t.Fatal(err)
			}
		}
		expect("too early", at.Add(-time.Millisecond), nil, nil)
		expect("in time", at, []string{w.ID}, nil)
		erase("era_1", w.ID)
		expect("without websites", at, nil, []string{o.ID})
		erase("era_2", o.ID)
		expect("in the end", at, nil, nil)
		if n := f.count("organizations WHERE id = '" + o.ID + "'"); n != 0 {
			t.Error("its row is there still")
		}
		if n := f.count("members"); n != 0 {
			t.Errorf("%d members are left", n)
		}
		if f.entryOf(o.ID, "organization.purged").ResourceID != o.ID {
			t.Error("no entry tells of it")
		}
		if _, err := s.WebsiteByID(t.Context(), other.ID); err != nil {
			t.Errorf("another's website: %v", err)
		}
	},
	"of several who restore at once one does": func(t *testing.T, f *Fixture) {
		o := f.Organization()
		f.member(o.ID, "usr_a", org.RoleOwner)
		f.delete(o.ID, Start)
		ends := f.race(4, func(_ int, s *store.Store) error {
			_, err := s.RestoreOrganization(context.WithoutCancel(t.Context()), somebody, o.ID, "usr_a", Start)
			return err
		}, org.ErrNotDeleted)
		if ends[nil] != 1 || ends[org.ErrNotDeleted] != 3 {
			t.Errorf("ended as %v, want one restored", ends)
		}
	},
}
