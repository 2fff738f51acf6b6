package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/session"
	"github.com/millrace/millrace/internal/tenant/token"
)

// verification adds the verification of a user's address, whose token is given.
func (f *Fixture) verification(userID, text string) {
	f.tb.Helper()
	v := &session.Verification{
		UserID: userID, TokenHash: token.HashOf(text), CreatedAt: Start, ExpiresAt: Start.Add(time.Hour),
	}
	if err := f.Store().CreateVerification(f.tb.Context(), somebody, v); err != nil {
		f.tb.Fatal(err)
	}
}

// verifiedAt returns since when the address of a user is verified.
func (f *Fixture) verifiedAt(userID string) time.Time {
	f.tb.Helper()
	u, err := f.Store().UserByID(f.tb.Context(), userID)
	if err != nil {
		f.tb.Fatal(err)
	}
	return u.VerifiedAt
}

var verificationTests = map[string]func(*testing.T, *Fixture){
	"an address is verified once, in time, by its own user": func(t *testing.T, f *Fixture) {
		s := f.Store()
		f.User("usr_a", "a@example.com")
		f.User("usr_b", "b@example.com")
		f.verification("usr_a", "v1")
		f.verification("usr_a", "v2")
		for name, try := range map[string]struct {
			user, text string
			at         time.Time
		}{
			"another user": {"usr_b", "v1", Start}, "another token": {"usr_a", "x", Start},
			"when it is past": {"usr_a", "v1", Start.Add(time.Hour)},
		} {
			err := s.VerifyEmail(t.Context(), somebody, try.user, token.HashOf(try.text), try.at)
			if !errors.Is(err, session.ErrVerificationNotFound) {
				t.Errorf("%s: %v, want %v", name, err, session.ErrVerificationNotFound)
			}
		}
		last := Start.Add(time.Hour - time.Millisecond)
		ends := f.race(4, func(_ int, s *store.Store) error {
			return s.VerifyEmail(t.Context(), somebody, "usr_a", token.HashOf("v1"), last)
		}, session.ErrVerificationNotFound)
		if ends[nil] != 1 {
			t.Errorf("ended as %v, want one that succeeded", ends)
		}
		if got := f.verifiedAt("usr_a"); !got.Equal(kept(last)) {
			t.Errorf("verified at %s", got)
		}
		if n := f.count("email_verifications"); n != 0 {
			t.Errorf("%d verifications are left", n)
		}
		err := s.CreateVerification(t.Context(), somebody, &session.Verification{UserID: "usr_none"})
		if !errors.Is(err, org.ErrUserNotFound) {
			t.Errorf("CreateVerification() for nobody = %v", err)
		}
	},
	"what proves an address verifies it, and is remembered once": func(t *testing.T, f *Fixture) {
		s, o := f.Store(), f.Organization()
		for userID, prove := range map[string]func(ctx context.Context) error{
			"usr_invited": func(ctx context.Context) error {
				i := f.mailed(o.ID, "usr_invited@example.com")
				_, err := s.AcceptInvitation(ctx, somebody, i.TokenHash, "usr_invited", Start)
				return err
			},
			"usr_reset": func(ctx context.Context) error {
				f.reset("usr_reset", "r1")
				return s.ResetPassword(ctx, somebody, token.HashOf("r1"), "new", Start)
			},
			"usr_operator": func(ctx context.Context) error {
				return s.SetVerified(ctx, somebody, "usr_operator", Start)
			},
		} {
			f.User(userID, userID+"@example.com")
			f.verification(userID, "v "+userID)
			if got := f.verifiedAt(userID); !got.IsZero() {
				t.Errorf("%s is verified from the beginning, at %s", userID, got)
			}
			actions := f.audited(func() error { return prove(t.Context()) })
			if !slices.Contains(actions, "user.emailVerified") || !f.verifiedAt(userID).Equal(kept(Start)) {
				t.Errorf("%s: %v, verified at %s", userID, actions, f.verifiedAt(userID))
			}
			actions = f.audited(func() error {
				return s.SetVerified(t.Context(), somebody, userID, Start.Add(time.Hour))
			})
			if len(actions) != 0 || !f.verifiedAt(userID).Equal(kept(Start)) {
				t.Errorf("%s a second time: %v, verified at %s", userID, actions, f.verifiedAt(userID))
			}
		}
		if n := f.count("email_verifications"); n != 0 {
			t.Errorf("%d verifications are left", n)
		}
		f.User("usr_shown", "usr_shown@example.com")
		i := f.invite(o.ID, "usr_shown@example.com", org.RoleViewer, "")
		_, err := s.AcceptInvitation(t.Context(), somebody, i.TokenHash, "usr_shown", Start)
		if err != nil || !f.verifiedAt("usr_shown").IsZero() {
			t.Errorf("an invitation that was shown: %v, verified at %s", err, f.verifiedAt("usr_shown"))
		}
		if err := s.SetVerified(t.Context(), somebody, "usr_none", Start); !errors.Is(err, org.ErrUserNotFound) {
			t.Errorf("SetVerified() of nobody = %v", err)
		}
	},
}

// mailed adds an invitation that was mailed.
func (f *Fixture) mailed(organizationID, email string) *org.Invitation {
	f.tb.Helper()
	i, _, err := org.NewInvitation(organizationID, email, org.RoleViewer, "", f.Clock.Now())
	if err == nil {
		i.Mailed = true
		err = f.Store().CreateInvitation(f.tb.Context(), somebody, i, anyRole)
	}
	if err != nil {
		f.tb.Fatal(err)
	}
	return i
}
