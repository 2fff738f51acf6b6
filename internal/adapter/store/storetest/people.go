package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
)

// anyRole is a check that agrees to everything.
func anyRole(org.Role) error { return nil }

// member adds a user with a membership.
func (f *Fixture) member(organizationID, userID string, role org.Role) {
	f.tb.Helper()
	f.User(userID, userID+"@example.com")
	f.join(organizationID, userID, role)
}

func (f *Fixture) join(organizationID, userID string, role org.Role) {
	f.tb.Helper()
	m := &org.Member{OrganizationID: organizationID, UserID: userID, Role: role, CreatedAt: f.Clock.Now()}
	if err := f.Store().AddMember(f.tb.Context(), somebody, m); err != nil {
		f.tb.Fatal(err)
	}
}

// invite adds an invitation and returns it with its token's hash.
func (f *Fixture) invite(organizationID, email string, role org.Role, by string) *org.Invitation {
	f.tb.Helper()
	defer nextMillisecond()
	i, _, err := org.NewInvitation(organizationID, email, role, by, f.Clock.Now())
	if err == nil {
		err = f.Store().CreateInvitation(f.tb.Context(), somebody, i, anyRole)
	}
	if err != nil {
		f.tb.Fatal(err)
	}
	return i
}

// audited returns the actions of the entries that a change leaves, sorted.
func (f *Fixture) audited(change func() error) []string {
	f.tb.Helper()
	f.Store()
	db := f.database()
	defer db.Close()
	read := func() (all []string) {
		rows, err := db.QueryContext(f.tb.Context(),
			"SELECT action FROM audit_entries WHERE actor_id = 'usr_1' AND ip = '192.0.2.1'")
		if err != nil {
			f.tb.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var action string
			if err := rows.Scan(&action); err != nil {
				f.tb.Fatal(err)
			}
			all = append(all, action)
		}
		if err := rows.Err(); err != nil {
			f.tb.Fatal(err)
		}
		return all
	}
	before := read()
	if err := change(); err != nil {
		f.tb.Fatal(err)
	}
	after := read()
	for _, action := range before {
		i := slices.Index(after, action)
		after = slices.Delete(after, i, i+1)
	}
	slices.Sort(after)
	return after
}

// race runs fn in several stores at once, as several processes would, and returns
// how many ended as each of the errors; another error fails the test.
func (f *Fixture) race(n int, fn func(i int, s *store.Store) error, expected ...error) map[error]int {
	f.tb.Helper()
	f.Store()
	var mu sync.Mutex
	var wg sync.WaitGroup
	ends := map[error]int{}
	for i := range n {
		s := f.Open()
		wg.Go(func() {
			err := fn(i, s)
			at := slices.IndexFunc(expected, func(e error) bool { return errors.Is(err, e) })
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				ends[nil]++
			case at >= 0:
				ends[expected[at]]++
			default:
				f.tb.Error(err)
			}
		})
	}
	wg.Wait()
	return ends
}

var peopleTests = map[string]func(*testing.T, *Fixture){
	"an organization's settings change from version to version": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		later := Start.Add(time.Minute)
		rename := func(version int64, name string) (*org.Organization, error) {
			return s.UpdateOrganization(t.Context(), somebody, o.ID, version, later, func(o *org.Organization) error {
				o.Name = name
				return nil
			})
		}
		want := *o
		want.CreatedAt, want.UpdatedAt, want.Name, want.Version = kept(Start), kept(later), awkward, 2
		got, err := rename(1, awkward)
		if diff := cmp.Diff(&want, got); diff != "" || err != nil {
			t.Errorf("UpdateOrganization(): %v (-want +got):\n%s", err, diff)
		}
		if _, err := rename(1, "late"); !errors.Is(err, managed.ErrChanged) {
			t.Errorf("with a version that is past: %v, want %v", err, managed.ErrChanged)
		}
		if same, err := rename(2, awkward); err != nil || same.Version != 2 {
			t.Errorf("a change of nothing: %+v, %v, want version 2", same, err)
		}
		if next, err := rename(0, "x"); err != nil || next.Version != 3 {
			t.Errorf("with whatever version: %+v, %v, want version 3", next, err)
		}
		if _, err := s.UpdateOrganization(t.Context(), somebody, o.ID, 0, later, func(o *org.Organization) error {
			o.Name = "lost"
			return errStop
		}); !errors.Is(err, errStop) {
			t.Errorf("a change that is rejected: %v, want %v", err, errStop)
		}
		if _, err := s.UpdateOrganization(t.Context(), somebody,
			"org_none", 0, later, nil); !errors.Is(err, org.ErrNotFound) {
			t.Errorf("of no organization: %v, want %v", err, org.ErrNotFound)
		}
		if n := f.count("outbox WHERE kind = 'organization' AND version IN (2, 3)"); n != 2 {
			t.Errorf("%d change events, want 2", n)
		}
		if got, err := s.OrganizationByID(t.Context(), o.ID); err != nil || got.Name != "x" {
			t.Errorf("it is %+v, %v", got, err)
		}
	},
	"of several who change one version, one wins": func(t *testing.T, f *Fixture) {
		o := f.Organization()
		ends := f.race(6, func(i int, s *store.Store) error {
			_, err := s.UpdateOrganization(t.Context(), somebody, o.ID, 1, Start, func(o *org.Organization) error {
				o.Name = fmt.Sprintf("by %d", i)
				return nil
			})
			return err
		}, managed.ErrChanged)
		if ends[nil] != 1 {
			t.Errorf("ended as %v, want one that succeeded", ends)
		}
		if n := f.count("audit_entries WHERE action = 'organization.updated'"); n != 1 {
			t.Errorf("%d entries, want 1", n)
		}
	},
	"a slug belongs to one organization": func(t *testing.T, f *Fixture) {
		s, first, second := f.Store(), f.Organization(), f.Organization()
		claim := func(id, slug string) error {
			_, err := s.UpdateOrganization(t.Context(), somebody, id, 0, Start, func(o *org.Organization) error {
				o.Slug = slug
				return nil
			})
			return err
		}
		for _, step := range []struct {
			id, slug string
			want     error
		}{{first.ID, "acme", nil}, {second.ID, "acme", org.ErrSlugTaken}, {first.ID, "", nil}, {second.ID, "acme", nil}} {
			if err := claim(step.id, step.slug); !errors.Is(err, step.want) {
				t.Errorf("claiming %q = %v, want %v", step.slug, err, step.want)
			}
		}
		third := &org.Organization{ID: "org_3", Name: "n", Slug: "acme", CreatedAt: Start, UpdatedAt: Start}
		if err := s.CreateOrganization(t.Context(), somebody, third); !errors.Is(err, org.ErrSlugTaken) {
			t.Errorf("CreateOrganization() = %v, want %v", err, org.ErrSlugTaken)
		}
	},
	"a role changes where the rules agree": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		f.member(o.ID, "usr_a", org.RoleOwner)
		f.member(o.ID, "usr_b", org.RoleViewer)
		p, err := s.SetRole(t.Context(), somebody, o.ID, "usr_b", org.RoleEditor, Start, func(from org.Role) error {
			if from != org.RoleViewer {
				t.Errorf("the role before is %s", from)
			}
			return nil
		})
		if err != nil || p.Role != org.RoleEditor || p.Email != "usr_b@example.com" {
			t.Errorf("SetRole() = %+v, %v", p, err)
		}
		if actions := f.audited(func() error {
			_, err := s.SetRole(t.Context(), somebody, o.ID, "usr_b", org.RoleEditor, Start, anyRole)
			return err
		}); len(actions) != 0 {
			t.Errorf("a role that the member has left %v", actions)
		}
		no := func(org.Role) error { return errStop }
		if _, err := s.SetRole(t.Context(), somebody, o.ID, "usr_b", org.RoleOwner, Start, no); !errors.Is(err, errStop) {
			t.Errorf("SetRole() that is rejected = %v", err)
		}
		if err := remove(t, s, o.ID, "usr_b", no); !errors.Is(err, errStop) {
			t.Errorf("RemoveMember() that is rejected = %v", err)
		}
		other := f.Organization()
		for _, at := range []struct{ organization, user string }{
			{other.ID, "usr_b"}, {o.ID, "usr_none"}, {"org_none", "usr_b"},
		} {
			if _, err := s.SetRole(t.Context(), somebody, at.organization, at.user,
				org.RoleOwner, Start, anyRole); !errors.Is(err, org.ErrMemberNotFound) {
				t.Errorf("SetRole(%v) = %v, want %v", at, err, org.ErrMemberNotFound)
			}
			if err := remove(t, s, at.organization, at.user, anyRole); !errors.Is(err, org.ErrMemberNotFound) {
				t.Errorf("RemoveMember(%v) = %v, want %v", at, err, org.ErrMemberNotFound)
			}
		}
	},
	"an organization keeps an owner": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		f.member(o.ID, "usr_0", org.RoleOwner)
		f.member(o.ID, "usr_x", org.RoleAdmin)
		if _, err := s.SetRole(t.Context(), somebody, o.ID, "usr_0",
			org.RoleAdmin, Start, anyRole); !errors.Is(err, org.ErrLastOwner) {
			t.Errorf("SetRole() of the last owner = %v, want %v", err, org.ErrLastOwner)
		}
		if err := remove(t, s, o.ID, "usr_0", anyRole); !errors.Is(err, org.ErrLastOwner) {
			t.Errorf("RemoveMember() of the last owner = %v, want %v", err, org.ErrLastOwner)
		}
		const owners = 4
		for i := 1; i < owners; i++ {
			f.member(o.ID, fmt.Sprintf("usr_%d", i), org.RoleOwner)
		}
		ends := f.race(owners, func(i int, s *store.Store) error { // all leave at once
			return remove(t, s, o.ID, fmt.Sprintf("usr_%d", i), anyRole)
		}, org.ErrLastOwner)
		if ends[nil] != owners-1 || ends[org.ErrLastOwner] != 1 {
			t.Errorf("ended as %v, want all but one", ends)
		}
		if n := f.count("members WHERE role = 'owner'"); n != 1 {
			t.Errorf("%d owners are left", n)
		}
	},
	"a user belongs to so many organizations and no more": func(t *testing.T, f *Fixture) {
		s, u := f.Store(), f.User("usr_a", "a@example.com")
		for i := range org.MaxMemberships + 1 {
			o := f.Organization()
			err := s.AddMember(t.Context(), somebody,
				&org.Member{OrganizationID: o.ID, UserID: u.ID, Role: org.RoleViewer, CreatedAt: Start})
			if full := i == org.MaxMemberships; full != errors.Is(err, org.ErrTooManyMemberships) || !full && err != nil {
				t.Fatalf("place %d: %v", i+1, err)
			}
		}
		if memberships, err := s.ListMemberships(t.Context(), u.ID); err != nil || len(memberships) != org.MaxMemberships {
			t.Errorf("ListMemberships(): %d, %v", len(memberships), err)
		}
	},
	"every change of people leaves its entry": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		f.member(o.ID, "usr_a", org.RoleOwner)
		f.User("usr_b", "b@example.com")
		f.User("usr_c", "c@example.com")
		i, j := f.invite(o.ID, "b@example.com", org.RoleViewer, ""), f.invite(o.ID, "x@example.com", org.RoleViewer, "")
		fresh := func() *org.Organization {
			return &org.Organization{ID: "org_fresh", Name: "n", CreatedAt: Start, UpdatedAt: Start}
		}
		for _, step := range []struct {
			want   []string
			change func(ctx context.Context) error
		}{
			{
				[]string{"organization.created"},
				func(ctx context.Context) error { return s.CreateOrganization(ctx, somebody, fresh()) },
			},
			{[]string{"organization.updated"}, func(ctx context.Context) error {
				_, err := s.UpdateOrganization(ctx, somebody, o.ID, 0, Start, func(o *org.Organization) error {
					o.Name = "new"
					return nil
				})
				return err
			}},
			{
				[]string{"organization.purged"},
				func(ctx context.Context) error { return s.PurgeOrganization(ctx, somebody, "org_fresh", Start) },
			},
			{[]string{"member.added"}, func(ctx context.Context) error {
				return s.AddMember(ctx, somebody,
					&org.Member{OrganizationID: o.ID, UserID: "usr_c", Role: org.RoleViewer, CreatedAt: Start})
			}},
			{[]string{"member.updated"}, func(ctx context.Context) error {
				_, err := s.SetRole(ctx, somebody, o.ID, "usr_c", org.RoleAdmin, Start, anyRole)
				return err
			}},
			{[]string{"member.removed"}, func(context.Context) error { return remove(t, s, o.ID, "usr_c", anyRole) }},
			{[]string{"invitation.accepted", "member.added"}, func(ctx context.Context) error {
				_, err := s.AcceptInvitation(ctx, somebody, i.TokenHash, "usr_b", Start)
				return err
			}},
			{[]string{"invitation.revoked"}, func(ctx context.Context) error {
				return s.RevokeInvitation(ctx, somebody, o.ID, j.ID, Start, anyRole)
			}},
			{
				[]string{"invitation.created"},
				func(context.Context) error { f.invite(o.ID, "x@example.com", org.RoleViewer, ""); return nil },
			},
			{[]string{"member.added", "organization.created", "user.created"}, func(ctx context.Context) error {
				return s.CreateAccount(ctx, somebody,
					&org.User{ID: "usr_d", Email: "d@example.com", Name: "n", PasswordHash: "h", CreatedAt: Start}, fresh())
			}},
		} {
			got := f.audited(func() error { return step.change(t.Context()) })
			if diff := cmp.Diff(step.want, got); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		}
	},
}

// remove takes a membership away and leaves the keys that the user made.
func remove(t *testing.T, s *store.Store, organizationID, userID string, check func(org.Role) error) error {
	t.Helper()
	_, err := s.RemoveMember(t.Context(), somebody,
		org.Departure{OrganizationID: organizationID, UserID: userID}, Start, check)
	return err
}
