package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/tenant/org"
)

// awkward is text that a mistake in quoting would lose, cut or run.
const awkward = `O'Neil "the" \ ? $1 ?0 {x} %s -- /* '; DROP TABLE users; 日本 🦫`

var organizationTests = map[string]func(*testing.T, *Fixture){
	"an organization is read back": func(t *testing.T, f *Fixture) {
		s := f.Store()
		there := Start.In(time.FixedZone("", 3600))
		o := &org.Organization{
			ID: "org_1", Name: awkward, Slug: "acme", LogoURL: "https://acme.example/logo.png", Timezone: "Europe/Berlin",
			CreatedBy: "usr_1", Version: 7, CreatedAt: there, UpdatedAt: there,
		}
		if err := s.CreateOrganization(t.Context(), somebody, o); err != nil {
			t.Fatal(err)
		}
		want := new(org.Organization)
		*want = *o
		want.CreatedAt, want.UpdatedAt = kept(Start), kept(Start)
		got, err := s.OrganizationByID(t.Context(), "org_1")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("OrganizationByID(): %v (-want +got):\n%s", err, diff)
		}
		all, err := s.ListOrganizations(t.Context())
		if diff := cmp.Diff([]*org.Organization{want}, all); diff != "" || err != nil {
			t.Errorf("ListOrganizations(): %v (-want +got):\n%s", err, diff)
		}
		if _, err := s.OrganizationByID(t.Context(), "org_2"); !errors.Is(err, org.ErrNotFound) {
			t.Errorf("OrganizationByID() of none: %v", err)
		}
	},
	"an organization that is purged leaves its websites and keys without one": func(t *testing.T, f *Fixture) {
		s, o, u := f.Store(), f.Organization(), f.User("usr_1", "ann@example.com")
		w, k := f.Website(o.ID), f.Key(o.ID, "")
		if err := s.AddMember(t.Context(), somebody,
			&org.Member{OrganizationID: o.ID, UserID: u.ID, Role: org.RoleOwner, CreatedAt: Start}); err != nil {
			t.Fatal(err)
		}
		if err := s.PurgeOrganization(t.Context(), somebody, o.ID, Start); err != nil {
			t.Fatal(err)
		}
		if got, err := s.WebsiteByID(t.Context(), w.ID); err != nil || got.OrganizationID != "" {
			t.Errorf("WebsiteByID() = %+v, %v, want a website without organization", got, err)
		}
		if got, err := s.KeyByHash(t.Context(), k.Hash); err != nil || got.OrganizationID != "" {
			t.Errorf("KeyByHash() = %+v, %v, want a key without organization", got, err)
		}
		if got, err := s.ListPeople(t.Context(), o.ID, "", 0); err != nil || len(got) != 0 {
			t.Errorf("ListPeople() = %v, %v, want none", got, err)
		}
		if err := s.PurgeOrganization(t.Context(), somebody, o.ID, Start); !errors.Is(err, org.ErrNotFound) {
			t.Errorf("PurgeOrganization() again: %v, want %v", err, org.ErrNotFound)
		}
	},
	"a user is found by e-mail address, which nobody else may have": func(t *testing.T, f *Fixture) {
		s := f.Store()
		u := f.User("usr_1", "ann@example.com")
		want := *u
		want.CreatedAt, want.PasswordChangedAt = kept(u.CreatedAt), kept(u.CreatedAt)
		got, err := s.UserByEmail(t.Context(), "ann@example.com")
		if diff := cmp.Diff(&want, got); diff != "" || err != nil {
			t.Errorf("UserByEmail(): %v (-want +got):\n%s", err, diff)
		}
		other := *u
		other.ID = "usr_2"
		if err := s.CreateUser(t.Context(), somebody, &other); !errors.Is(err, org.ErrEmailTaken) {
			t.Errorf("CreateUser() = %v, want %v", err, org.ErrEmailTaken)
		}
		if _, err := s.UserByEmail(t.Context(), "bob@example.com"); !errors.Is(err, org.ErrUserNotFound) {
			t.Errorf("UserByEmail() of none: %v", err)
		}
	},
	"a user has one place in an organization": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		f.User("usr_1", "ann@example.com")
		f.User("usr_2", "bob@example.com")
		add := func(organizationID, userID string, role org.Role) error {
			return s.AddMember(t.Context(), somebody,
				&org.Member{OrganizationID: organizationID, UserID: userID, Role: role, CreatedAt: Start})
		}
		for _, tc := range []struct {
			organizationID, userID string
			role                   org.Role
			want                   error
		}{
			{o.ID, "usr_2", org.RoleViewer, nil},
			{o.ID, "usr_1", org.RoleOwner, nil},
			{o.ID, "usr_1", org.RoleAdmin, org.ErrMemberExists},
			{"org_none", "usr_1", org.RoleOwner, org.ErrNotFound},
			{o.ID, "usr_none", org.RoleOwner, org.ErrNotFound},
		} {
			if err := add(tc.organizationID, tc.userID, tc.role); !errors.Is(err, tc.want) {
				t.Errorf("AddMember(%s, %s) = %v, want %v", tc.organizationID, tc.userID, err, tc.want)
			}
		}
		if err := add(o.ID, "usr_1", "emperor"); err == nil {
			t.Error("AddMember() with an unknown role succeeded")
		}
		want := []org.Person{
			{
				Member: org.Member{OrganizationID: o.ID, UserID: "usr_1", Role: org.RoleOwner, CreatedAt: kept(Start)},
				Email:  "ann@example.com",
				Name:   "Ann",
			},
			{
				Member: org.Member{OrganizationID: o.ID, UserID: "usr_2", Role: org.RoleViewer, CreatedAt: kept(Start)},
				Email:  "bob@example.com",
				Name:   "Ann",
			},
		}
		for _, page := range []struct {
			after string
			limit int
			want  []org.Person
		}{{"", 0, want}, {"", 1, want[:1]}, {"usr_1", 1, want[1:]}, {"usr_2", 1, want[:0]}} {
			got, err := s.ListPeople(t.Context(), o.ID, page.after, page.limit)
			if diff := cmp.Diff(page.want, got); diff != "" || err != nil {
				t.Errorf("ListPeople(%q, %d): %v (-want +got):\n%s", page.after, page.limit, err, diff)
			}
		}
		memberships, err := s.ListMemberships(t.Context(), "usr_2")
		if diff := cmp.Diff([]org.Membership{{Member: want[1].Member, Organization: "Acme"}}, memberships); diff != "" ||
			err != nil {
			t.Errorf("ListMemberships(): %v (-want +got):\n%s", err, diff)
		}
	},
}
