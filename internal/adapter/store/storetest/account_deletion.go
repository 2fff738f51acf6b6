package storetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/session"
)

var accountDeletionTests = map[string]func(*testing.T, *Fixture){
	"a deleted account leaves nothing but its entries and keys": func(t *testing.T, f *Fixture) {
		s, own, other := f.Store(), f.Organization(), f.Organization()
		u := f.User("usr_a", "a@example.com")
		f.join(own.ID, u.ID, org.RoleOwner)
		f.join(other.ID, u.ID, org.RoleAdmin)
		f.member(other.ID, "usr_b", org.RoleOwner)
		f.session(u, "ses_1", Start)
		f.reset(u.ID, "r1")
		f.verification(u.ID, "v1")
		f.device(u.ID, "", "d1", Start)
		f.invite(other.ID, "x@example.com", org.RoleViewer, u.ID)
		f.invite(other.ID, "y@example.com", org.RoleViewer, "usr_b")
		f.invite(own.ID, "x@example.com", org.RoleViewer, u.ID)
		f.Key(other.ID, "")
		stale := *u
		stale.PasswordHash = "another"
		if err := s.DeleteAccount(t.Context(), somebody, &stale, Start); !errors.Is(err, session.ErrPasswordChanged) {
			t.Errorf("DeleteAccount() with another password = %v, want %v", err, session.ErrPasswordChanged)
		}
		if err := s.DeleteAccount(t.Context(), somebody, u, Start); err != nil {
			t.Fatal(err)
		}
		if _, err := s.UserByID(t.Context(), u.ID); !errors.Is(err, org.ErrUserNotFound) {
			t.Errorf("UserByID() = %v, want %v", err, org.ErrUserNotFound)
		}
		if _, err := s.OrganizationByID(t.Context(), own.ID); !errors.Is(err, org.ErrNotFound) {
			t.Errorf("the organization of the user alone: %v, want %v", err, org.ErrNotFound)
		}
		for from, want := range map[string]int{
			"sessions": 0, "password_resets": 0, "email_verifications": 0, "devices": 0,
			"members": 1, "invitations": 1, "api_keys": 1,
			"audit_entries WHERE action = 'user.deleted' AND resource_id = 'usr_a' AND organization_id <> ''": 2,
			"audit_entries WHERE action = 'organization.deleted'":                                             1,
			"audit_entries WHERE action = 'member.removed'":                                                   1,
		} {
			if got := f.count(from); got != want {
				t.Errorf("%d %s, want %d", got, from, want)
			}
		}
	},
	"an account that an organization needs stays, and the organization is named": func(t *testing.T, f *Fixture) {
		s, empty := f.Store(), f.Organization()
		u := f.User("usr_a", "a@example.com")
		f.join(empty.ID, u.ID, org.RoleOwner)
		withMember, withWebsite, withOwner := f.Organization(), f.Organization(), f.Organization()
		for _, o := range []*org.Organization{withMember, withWebsite, withOwner} {
			f.join(o.ID, u.ID, org.RoleOwner)
		}
		f.member(withMember.ID, "usr_b", org.RoleAdmin)
		f.Website(withWebsite.ID)
		f.member(withOwner.ID, "usr_c", org.RoleOwner)
		f.Website(withOwner.ID)
		fails := func(needed ...*org.Organization) {
			t.Helper()
			err := s.DeleteAccount(t.Context(), somebody, u, Start)
			if !apierr.Is(err, apierr.Conflict) {
				t.Fatalf("DeleteAccount() = %v", err)
			}
			for _, o := range []*org.Organization{empty, withMember, withWebsite, withOwner} {
				named := strings.Contains(apierr.Of(err).Message, o.ID)
				want := false
				for _, n := range needed {
					want = want || n == o
				}
				if named != want {
					t.Errorf("%s is named: %t in %q", o.ID, named, apierr.Of(err).Message)
				}
			}
			if memberships, err := s.ListMemberships(t.Context(), u.ID); err != nil || len(memberships) != 4 {
				t.Errorf("%d places are left, %v", len(memberships), err)
			}
		}
		fails(withMember, withWebsite)
		_, err := s.SetRole(t.Context(), somebody, withMember.ID, "usr_b", org.RoleOwner, Start, anyRole)
		if err != nil {
			t.Fatal(err)
		}
		fails(withWebsite)
		f.member(withWebsite.ID, "usr_d", org.RoleOwner)
		if err := s.DeleteAccount(t.Context(), somebody, u, Start); err != nil {
			t.Error(err)
		}
	},
	"of two owners who go at once one stays": func(t *testing.T, f *Fixture) {
		o := f.Organization()
		users := []*org.User{f.User("usr_a", "a@example.com"), f.User("usr_b", "b@example.com")}
		for _, u := range users {
			f.join(o.ID, u.ID, org.RoleOwner)
		}
		f.Website(o.ID)
		errNeeded := errors.New("needed")
		ends := f.race(len(users), func(i int, s *store.Store) error {
			err := s.DeleteAccount(t.Context(), audit.BySystem(), users[i], Start)
			if apierr.Is(err, apierr.Conflict) {
				return errNeeded
			}
			return err
		}, errNeeded)
		if ends[nil] != 1 || ends[errNeeded] != 1 {
			t.Errorf("they ended as %v", ends)
		}
		if n := f.count("members WHERE role = 'owner'"); n != 1 {
			t.Errorf("%d owners are left", n)
		}
	},
}
