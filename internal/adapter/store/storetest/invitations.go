package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/token"
)

var invitationTests = map[string]func(*testing.T, *Fixture){
	"the invitations that their inviter could not issue any more end": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		f.member(o.ID, "usr_a", org.RoleOwner)
		f.member(o.ID, "usr_b", org.RoleOwner)
		f.invite(o.ID, "x@example.com", org.RoleAdmin, "usr_b")
		f.invite(o.ID, "z@example.com", org.RoleOwner, "usr_b")
		f.invite(o.ID, "y@example.com", org.RoleOwner, "usr_a")
		for _, step := range []struct {
			role org.Role
			want int
		}{{org.RoleAdmin, 2}, {org.RoleEditor, 1}} {
			if _, err := s.SetRole(t.Context(), somebody, o.ID, "usr_b", step.role, Start, anyRole); err != nil {
				t.Fatal(err)
			}
			if n := f.count("invitations"); n != step.want {
				t.Errorf("as %s: %d invitations are left, want %d", step.role, n, step.want)
			}
		}
		f.invite(o.ID, "x@example.com", org.RoleViewer, "usr_b")
		if err := remove(t, s, o.ID, "usr_b", anyRole); err != nil {
			t.Fatal(err)
		}
		if n := f.count("invitations"); n != 1 {
			t.Errorf("after the removal: %d invitations are left, want 1", n)
		}
	},
	"an invitation that its inviter could not issue any more is not accepted": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		f.member(o.ID, "usr_a", org.RoleAdmin)
		f.User("usr_x", "x@example.com")
		for name, inviter := range map[string]string{"an admin": "usr_a", "one who has left": "usr_x"} {
			i := f.invite(o.ID, "x@example.com", org.RoleOwner, inviter) // as one did who had the role
			if _, err := s.AcceptInvitation(t.Context(), somebody, i.TokenHash, "usr_x", Start); !errors.Is(err,
				org.ErrInvitationNotFound) {
				t.Errorf("an owner's place that %s offers: %v, want %v", name, err, org.ErrInvitationNotFound)
			}
		}
		i := f.invite(o.ID, "x@example.com", org.RoleEditor, "usr_a")
		if _, err := s.AcceptInvitation(t.Context(), somebody, i.TokenHash, "usr_x", Start); err != nil {
			t.Errorf("what an admin may offer: %v", err)
		}
	},
	"an invitation is not replaced by who might not revoke it": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		first := f.invite(o.ID, "x@example.com", org.RoleOwner, "")
		errRole := errors.New("no")
		next, _, err := org.NewInvitation(o.ID, "x@example.com", org.RoleViewer, "", Start)
		if err != nil {
			t.Fatal(err)
		}
		err = s.CreateInvitation(t.Context(), somebody, next, func(earlier org.Role) error {
			if earlier != org.RoleOwner {
				t.Errorf("the earlier one offers %q", earlier)
			}
			return errRole
		})
		if !errors.Is(err, errRole) {
			t.Errorf("CreateInvitation() = %v, want %v", err, errRole)
		}
		if all, err := s.ListInvitations(t.Context(), o.ID, "", 10, Start); err != nil || len(all) != 1 ||
			all[0].ID != first.ID {
			t.Errorf("the invitations are %v, %v", all, err)
		}
		f.Clock.Set(first.ExpiresAt)
		next.CreatedAt = first.ExpiresAt // one that is past stands in nobody's way
		if err := s.CreateInvitation(t.Context(), somebody, next, func(org.Role) error { return errRole }); err != nil {
			t.Error(err)
		}
	},
	"an invitation is read back, page by page, and replaced by the next one": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		f.invite(f.Organization().ID, "a@example.com", org.RoleOwner, "")
		var want []org.Invitation
		for _, email := range []string{"a@example.com", "b@example.com", "c@example.com"} {
			want = append(want, *f.invite(o.ID, email, org.RoleAdmin, "usr_1"))
		}
		old := want[1]
		want[1] = *f.invite(o.ID, "b@example.com", org.RoleViewer, "usr_1")
		slices.SortFunc(want, func(a, b org.Invitation) int { return strings.Compare(a.ID, b.ID) })
		for i := range want {
			want[i].CreatedAt, want[i].ExpiresAt = kept(want[i].CreatedAt), kept(want[i].ExpiresAt)
		}
		var got []org.Invitation
		for after := ""; ; after = got[len(got)-1].ID {
			page, err := s.ListInvitations(t.Context(), o.ID, after, 2, Start)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ListInvitations() (-want +got):\n%s", diff)
		}
		f.User("usr_b", "b@example.com")
		if _, err := s.AcceptInvitation(t.Context(), somebody, old.TokenHash, "usr_b", Start); !errors.Is(err,
			org.ErrInvitationNotFound) {
			t.Errorf("AcceptInvitation() of the replaced one = %v, want %v", err, org.ErrInvitationNotFound)
		}
		if past, err := s.ListInvitations(t.Context(), o.ID, "", 0,
			Start.Add(org.InvitationLife)); err != nil || len(past) != 0 {
			t.Errorf("%d invitations are open when they are past, %v", len(past), err)
		}
	},
	"an invitation is accepted once, in time, by whom it is for": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		f.User("usr_a", "a@example.com")
		f.User("usr_b", "b@example.com")
		i := f.invite(o.ID, "a@example.com", org.RoleEditor, "")
		for name, try := range map[string]struct {
			hash token.Hash
			user string
			at   time.Time
		}{
			"another address":  {i.TokenHash, "usr_b", Start},
			"another token":    {token.HashOf("x"), "usr_a", Start},
			"when it is past":  {i.TokenHash, "usr_a", i.ExpiresAt},
			"and later by far": {i.TokenHash, "usr_a", i.ExpiresAt.AddDate(1, 0, 0)},
		} {
			if _, err := s.AcceptInvitation(t.Context(), somebody, try.hash, try.user, try.at); !errors.Is(err,
				org.ErrInvitationNotFound) {
				t.Errorf("%s: %v, want %v", name, err, org.ErrInvitationNotFound)
			}
		}
		ends := f.race(4, func(_ int, s *store.Store) error {
			membership, err := s.AcceptInvitation(t.Context(), somebody, i.TokenHash, "usr_a",
				i.ExpiresAt.Add(-time.Millisecond))
			if err == nil && (membership.Organization != o.Name || membership.Role != org.RoleEditor) {
				t.Errorf("the place is %+v", membership)
			}
			return err
		}, org.ErrInvitationNotFound)
		if ends[nil] != 1 {
			t.Errorf("ended as %v, want one that succeeded", ends)
		}
	},
	"an organization invites no member, and no more people than it may": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		f.member(o.ID, "usr_a", org.RoleOwner)
		i, _, err := org.NewInvitation(o.ID, "usr_a@example.com", org.RoleViewer, "", Start)
		if err == nil {
			err = s.CreateInvitation(t.Context(), somebody, i, anyRole)
		}
		if !errors.Is(err, org.ErrMemberExists) {
			t.Errorf("inviting a member: %v, want %v", err, org.ErrMemberExists)
		}
		for i := range org.MaxInvitations {
			f.invite(o.ID, fmt.Sprintf("x%d@example.com", i), org.RoleViewer, "")
		}
		create := func(email string, now time.Time) error {
			i, _, err := org.NewInvitation(o.ID, email, org.RoleViewer, "", now)
			if err != nil {
				return err
			}
			return s.CreateInvitation(t.Context(), somebody, i, anyRole)
		}
		for _, step := range []struct {
			email string
			now   time.Time
			want  error
		}{
			{"y@example.com", Start, org.ErrTooManyInvitations},
			{"x1@example.com", Start, nil}, // replaces one
			{"y@example.com", Start.Add(org.InvitationLife), nil},
		} {
			if err := create(step.email, step.now); !errors.Is(err, step.want) {
				t.Errorf("inviting %s at %s: %v, want %v", step.email, step.now, err, step.want)
			}
		}
		missing, _, err := org.NewInvitation("org_none", "y@example.com", org.RoleViewer, "", Start)
		if err == nil {
			err = s.CreateInvitation(t.Context(), somebody, missing, anyRole)
		}
		if !errors.Is(err, org.ErrNotFound) {
			t.Errorf("inviting into no organization: %v, want %v", err, org.ErrNotFound)
		}
	},
	"an invitation is withdrawn where the rules agree": func(t *testing.T, f *Fixture) {
		s, o, other := f.Store(), f.Organization(), f.Organization()
		i := f.invite(o.ID, "a@example.com", org.RoleOwner, "")
		for _, step := range []struct {
			organization string
			check        func(org.Role) error
			want         error
		}{
			{other.ID, anyRole, org.ErrInvitationNotFound},
			{o.ID, func(org.Role) error { return errStop }, errStop},
			{o.ID, anyRole, nil},
			{o.ID, anyRole, org.ErrInvitationNotFound},
		} {
			if err := s.RevokeInvitation(t.Context(), somebody, step.organization, i.ID,
				Start, step.check); !errors.Is(err, step.want) {
				t.Errorf("RevokeInvitation() = %v, want %v", err, step.want)
			}
		}
	},
	"an account begins whole or not at all": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		user := func(id, email string) *org.User {
			return &org.User{ID: id, Email: email, Name: "n", PasswordHash: "h", CreatedAt: Start, PasswordChangedAt: Start}
		}
		own := &org.Organization{ID: "org_own", Name: "Own", CreatedAt: Start, UpdatedAt: Start}
		if err := s.CreateAccount(t.Context(), somebody, user("usr_a", "a@example.com"), own); err != nil {
			t.Fatal(err)
		}
		second := &org.Organization{ID: "org_second", Name: "Second", CreatedAt: Start, UpdatedAt: Start}
		if err := s.CreateAccount(t.Context(), somebody,
			user("usr_b", "a@example.com"), second); !errors.Is(err, org.ErrEmailTaken) {
			t.Errorf("CreateAccount() = %v, want %v", err, org.ErrEmailTaken)
		}
		if _, err := s.OrganizationByID(t.Context(), second.ID); !errors.Is(err, org.ErrNotFound) {
			t.Errorf("it left an organization: %v", err)
		}
		i := f.invite(o.ID, "c@example.com", org.RoleAdmin, "")
		for _, step := range []struct {
			user *org.User
			hash token.Hash
			want error
		}{
			{user("usr_c", "c@example.com"), token.HashOf("x"), org.ErrInvitationNotFound},
			{user("usr_d", "d@example.com"), i.TokenHash, org.ErrInvitationNotFound},
			{user("usr_e", "a@example.com"), i.TokenHash, org.ErrInvitationNotFound}, // not that there is an account
			{user("usr_c", "c@example.com"), i.TokenHash, nil},
		} {
			if err := s.CreateInvited(t.Context(), somebody, step.user, step.hash); !errors.Is(err, step.want) {
				t.Errorf("CreateInvited(%s) = %v, want %v", step.user.ID, err, step.want)
			}
		}
		users, err := s.ListUsers(t.Context(), "", 0)
		var ids []string
		for _, u := range users {
			ids = append(ids, u.ID)
		}
		if diff := cmp.Diff([]string{"usr_a", "usr_c"}, ids); diff != "" || err != nil {
			t.Errorf("the users are: %v (-want +got):\n%s", err, diff)
		}
		if memberships, err := s.ListMemberships(t.Context(), "usr_c"); err != nil || len(memberships) != 1 ||
			memberships[0].Role != org.RoleAdmin {
			t.Errorf("the places of the invited are %+v, %v", memberships, err)
		}
	},
}
