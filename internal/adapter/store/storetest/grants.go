package storetest

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/session"
)

var errJudged = errors.New("judged")

// judged makes a change as a caller with a grant, has it rejected, and returns what the
// store found.
func (f *Fixture) judged(g audit.Grant) (found audit.Standing) {
	f.tb.Helper()
	g.Judge = func(s audit.Standing) error {
		found = s
		return errJudged
	}
	by := somebody
	by.Grant = &g
	err := f.Store().Change(f.tb.Context(), by, func(context.Context, *store.Store) error {
		f.tb.Error("the change was made in spite of the judgement")
		return nil
	})
	if !errors.Is(err, errJudged) {
		f.tb.Errorf("Change() = %v, want %v", err, errJudged)
	}
	return found
}

// finds compares what the store finds.
func (f *Fixture) finds(when string, g audit.Grant, want audit.Standing) {
	f.tb.Helper()
	if diff := cmp.Diff(want, f.judged(g)); diff != "" {
		f.tb.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

var grantTests = map[string]func(*testing.T, *Fixture){
	"a person stands as their session and place are now": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		u := f.User("usr_a", "a@example.com")
		g := audit.Grant{OrganizationID: o.ID, UserID: u.ID, SessionID: "ses_a"}
		f.finds("without session and place", g, audit.Standing{})
		f.session(u, "ses_a", Start)
		f.finds("without a place", g, audit.Standing{Good: true})
		f.join(o.ID, u.ID, org.RoleAdmin)
		f.member(o.ID, "usr_b", org.RoleOwner)
		f.finds("as admin", g, audit.Standing{Good: true, Role: "admin"})
		f.finds("for the own account", audit.Grant{UserID: u.ID, SessionID: "ses_a"}, audit.Standing{Good: true})
		f.finds("with another one's session", audit.Grant{OrganizationID: o.ID, UserID: "usr_b", SessionID: "ses_a"},
			audit.Standing{Role: "owner"})
		f.finds("in another organization", audit.Grant{OrganizationID: f.Organization().ID, UserID: u.ID, SessionID: "ses_a"},
			audit.Standing{Good: true})
		f.finds("in none", audit.Grant{OrganizationID: "org_none", UserID: u.ID, SessionID: "ses_a"},
			audit.Standing{Good: true})
		if _, err := s.SetRole(t.Context(), somebody, o.ID, u.ID, org.RoleViewer, Start, anyRole); err != nil {
			t.Fatal(err)
		}
		f.finds("as viewer", g, audit.Standing{Good: true, Role: "viewer"})
		if err := remove(t, s, o.ID, u.ID, anyRole); err != nil {
			t.Fatal(err)
		}
		f.finds("removed", g, audit.Standing{Good: true})
		f.Clock.Set(Start.Add(time.Hour))
		f.finds("when the session is past", g, audit.Standing{})
		f.Clock.Set(Start)
		if err := s.EndSession(t.Context(), somebody, u.ID, "ses_a", Start); err != nil {
			t.Fatal(err)
		}
		f.finds("signed out", g, audit.Standing{})
	},
	"a key stands as its secret and scopes are now": func(t *testing.T, f *Fixture) {
		o := f.Organization()
		k := f.Key(o.ID, "")
		g := audit.Grant{OrganizationID: o.ID, KeyID: k.ID, KeyHash: k.Hash}
		good := audit.Standing{Good: true, Scopes: []string{"read:data"}}
		f.finds("as made", g, good)
		for when, other := range map[string]audit.Grant{
			"with another secret":     {OrganizationID: o.ID, KeyID: k.ID, KeyHash: [32]byte{1}},
			"in another organization": {OrganizationID: f.Organization().ID, KeyID: k.ID, KeyHash: k.Hash},
		} {
			f.finds(when, other, audit.Standing{Scopes: good.Scopes})
		}
		f.finds("one that is not there", audit.Grant{OrganizationID: o.ID, KeyID: "key_none"}, audit.Standing{})
		rotated, _, err := f.keys().Rotate(t.Context(), somebody, target(k), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		f.finds("with the old secret, in its grace", g, good)
		f.Clock.Set(Start.Add(time.Minute))
		f.finds("with the old secret, after its grace", g, audit.Standing{Scopes: good.Scopes})
		g.KeyHash = rotated.Hash
		f.finds("with the new secret", g, good)
		if _, err := f.keys().Update(t.Context(), somebody, target(k),
			apikey.Patch{IPAllow: &[]string{"192.0.2.0/24"}}); err != nil {
			t.Fatal(err)
		}
		f.finds("from an address that is not its own", g, audit.Standing{Scopes: good.Scopes})
		g.Addr = netip.MustParseAddr("192.0.2.9")
		f.finds("from its own", g, good)
		if _, err := f.keys().Revoke(t.Context(), somebody, target(k)); err != nil {
			t.Fatal(err)
		}
		f.finds("revoked", g, audit.Standing{Scopes: good.Scopes})
	},
	"a refused change leaves nothing, and no journal is written without judgement": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		by := somebody
		by.Grant = &audit.Grant{OrganizationID: o.ID, Judge: func(audit.Standing) error { return errJudged }}
		if err := s.AddMember(t.Context(), by, &org.Member{
			OrganizationID: o.ID, UserID: f.User("usr_a", "a@example.com").ID, Role: org.RoleViewer,
		}); !errors.Is(err, errJudged) {
			t.Errorf("AddMember() = %v, want %v", err, errJudged)
		}
		if err := s.Remember(t.Context(), audit.New(by, o.ID, "events", "exported", Start)); !errors.Is(err, errJudged) {
			t.Errorf("Remember() = %v, want %v", err, errJudged)
		}
		if n := f.count("members"); n != 0 {
			t.Errorf("%d members are there", n)
		}
		by.Grant.Judge = func(audit.Standing) error { return nil }
		err := s.InTx(t.Context(), func(ctx context.Context, tx *store.Store) error {
			return tx.Record(ctx, audit.New(by, o.ID, "events", "exported", Start))
		})
		if err == nil {
			t.Error("an entry was written in the name of a caller who was not judged")
		}
	},
	"who changes something and who is removed come one after the other": func(t *testing.T, f *Fixture) {
		o := f.Organization()
		u := f.User("usr_a", "a@example.com")
		f.join(o.ID, u.ID, org.RoleAdmin)
		f.session(u, "ses_a", Start)
		by := somebody
		errGone := errors.New("gone")
		by.Grant = &audit.Grant{OrganizationID: o.ID, UserID: u.ID, SessionID: "ses_a", Judge: func(s audit.Standing) error {
			if !s.Good || s.Role == "" {
				return errGone
			}
			return nil
		}}
		ends := f.race(8, func(i int, s *store.Store) error {
			switch i {
			case 3:
				return remove(t, s, o.ID, u.ID, anyRole)
			case 5:
				return s.EndSession(t.Context(), somebody, u.ID, "ses_a", Start)
			}
			return s.Change(t.Context(), by, func(ctx context.Context, tx *store.Store) error {
				return tx.Record(ctx, audit.New(by, o.ID, "events", "exported", Start))
			})
		}, errGone, session.ErrNotFound)
		if made := f.count("audit_entries WHERE action = 'events.exported'"); made != ends[nil]-2 {
			t.Errorf("%d changes were made, and %v", made, ends)
		}
		f.finds("afterwards", *by.Grant, audit.Standing{})
	},
}
