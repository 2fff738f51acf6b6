package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/tenant/attempt"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/session"
	"github.com/millrace/millrace/internal/tenant/token"
)

// session adds a session of a user, whose token is its id.
func (f *Fixture) session(u *org.User, id string, created time.Time) *session.Session {
	f.tb.Helper()
	s := newSession(u, id, created)
	if err := f.Store().CreateSession(f.tb.Context(), somebody, u, s); err != nil {
		f.tb.Fatal(err)
	}
	return s
}

func newSession(u *org.User, id string, created time.Time) *session.Session {
	return &session.Session{
		ID: id, UserID: u.ID, Hash: token.HashOf(id), IP: "2001:db8::1", UserAgent: awkward,
		CreatedAt: created, SeenAt: created, ExpiresAt: created.Add(time.Hour),
	}
}

// reset adds the permission to set a new password, whose token is given.
func (f *Fixture) reset(userID, text string) {
	f.tb.Helper()
	r := &session.Reset{UserID: userID, TokenHash: token.HashOf(text), CreatedAt: Start, ExpiresAt: Start.Add(time.Hour)}
	if err := f.Store().CreateReset(f.tb.Context(), somebody, r); err != nil {
		f.tb.Fatal(err)
	}
}

// charge names an allowance of three, one more a minute.
func charge(name string) attempt.Charge {
	return attempt.Of(attempt.Allowance{Burst: 3, Interval: time.Minute}, "try", name)
}

var sessionTests = map[string]func(*testing.T, *Fixture){
	"a session is read back with its user and places": func(t *testing.T, f *Fixture) {
		s, o, other := f.Store(), f.Organization(), f.Organization()
		u := f.User("usr_a", "a@example.com")
		f.Clock.Set(Start.Add(time.Second))
		f.join(other.ID, u.ID, org.RoleViewer)
		f.Clock.Set(Start.Add(2 * time.Second))
		f.join(o.ID, u.ID, org.RoleOwner)
		want := *f.session(u, "ses_1", Start)
		want.CreatedAt, want.SeenAt, want.ExpiresAt = kept(want.CreatedAt), kept(want.SeenAt), kept(want.ExpiresAt)
		got, user, memberships, err := s.SessionByHash(t.Context(), token.HashOf("ses_1"))
		if diff := cmp.Diff(&want, got); diff != "" || err != nil {
			t.Fatalf("SessionByHash(): %v (-want +got):\n%s", err, diff)
		}
		if user.ID != u.ID || user.PasswordHash != u.PasswordHash {
			t.Errorf("the user is %+v", user)
		}
		if len(memberships) != 2 || memberships[0].OrganizationID != other.ID || memberships[1].Role != org.RoleOwner {
			t.Errorf("the places are %+v, want the oldest first", memberships)
		}
		if _, _, _, err := s.SessionByHash(t.Context(), token.HashOf("x")); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("SessionByHash() of none = %v", err)
		}
	},
	"the use of a session is noted, and only forward": func(t *testing.T, f *Fixture) {
		s, u := f.Store(), f.User("usr_a", "a@example.com")
		f.session(u, "ses_1", Start)
		later := Start.Add(time.Minute)
		for _, at := range []time.Time{later, Start, later.Add(-time.Second)} {
			if err := s.TouchSession(t.Context(), "ses_1", at); err != nil {
				t.Fatal(err)
			}
			if got, _, _, err := s.SessionByHash(t.Context(), token.HashOf("ses_1")); err != nil ||
				!got.SeenAt.Equal(kept(later)) {
				t.Errorf("after %s: seen at %s, %v", at, got.SeenAt, err)
			}
		}
		if err := s.TouchSession(t.Context(), "ses_none", later); err != nil {
			t.Errorf("TouchSession() of none = %v", err)
		}
	},
	"sessions are listed and ended by their own user": func(t *testing.T, f *Fixture) {
		s, a, b := f.Store(), f.User("usr_a", "a@example.com"), f.User("usr_b", "b@example.com")
		for i := range 3 {
			f.session(a, fmt.Sprintf("ses_%d", i), Start.Add(time.Duration(i)*time.Second))
		}
		f.session(b, "ses_b", Start)
		ids := func(userID string) (ids []string) {
			all, err := s.ListSessions(t.Context(), userID)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range all {
				ids = append(ids, one.ID)
			}
			return ids
		}
		if diff := cmp.Diff([]string{"ses_2", "ses_1", "ses_0"}, ids("usr_a")); diff != "" {
			t.Errorf("ListSessions() (-want +got):\n%s", diff)
		}
		for _, step := range []struct {
			user, id string
			want     error
		}{
			{"usr_a", "ses_b", session.ErrNotFound},
			{"usr_none", "ses_b", session.ErrNotFound},
			{"usr_a", "ses_1", nil},
			{"usr_a", "ses_1", session.ErrNotFound},
		} {
			if err := s.EndSession(t.Context(), somebody, step.user, step.id, Start); !errors.Is(err, step.want) {
				t.Errorf("EndSession(%s, %s) = %v, want %v", step.user, step.id, err, step.want)
			}
		}
		if n, err := s.EndSessions(t.Context(), somebody, "usr_a", "ses_0", Start); n != 1 || err != nil {
			t.Errorf("EndSessions() = %d, %v, want 1", n, err)
		}
		if diff := cmp.Diff([]string{"ses_0"}, ids("usr_a")); diff != "" {
			t.Errorf("ListSessions() after the end (-want +got):\n%s", diff)
		}
		if len(ids("usr_b")) != 1 {
			t.Error("the session of another user ended")
		}
	},
	"one session more than a user may have ends the oldest": func(t *testing.T, f *Fixture) {
		s, u := f.Store(), f.User("usr_a", "a@example.com")
		for i := range session.MaxSessions + 1 {
			f.session(u, fmt.Sprintf("ses_%03d", i), Start.Add(time.Duration(i)*time.Second))
			want := min(i+1, session.MaxSessions)
			if i >= session.MaxSessions-1 {
				if all, err := s.ListSessions(t.Context(), u.ID); err != nil || len(all) != want ||
					all[0].ID != fmt.Sprintf("ses_%03d", i) {
					t.Fatalf("after %d: %d sessions, %v", i+1, len(all), err)
				}
			}
		}
		if _, _, _, err := s.SessionByHash(t.Context(), token.HashOf("ses_000")); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("the oldest: %v, want %v", err, session.ErrNotFound)
		}
	},
	"a new password ends sessions and permissions": func(t *testing.T, f *Fixture) {
		s, u, other := f.Store(), f.User("usr_a", "a@example.com"), f.User("usr_b", "b@example.com")
		f.session(u, "ses_1", Start)
		f.session(other, "ses_b", Start)
		f.reset(u.ID, "r1")
		f.device(u.ID, "", "d1", Start)
		f.device(other.ID, "", "d2", Start)
		later := Start.Add(time.Minute)
		if err := s.SetPassword(t.Context(), somebody, u.ID, u.PasswordHash, "new", later,
			newSession(u, "ses_2", later)); err != nil {
			t.Fatal(err)
		}
		got, err := s.UserByID(t.Context(), u.ID)
		if err != nil || got.PasswordHash != "new" || !got.PasswordChangedAt.Equal(kept(later)) {
			t.Errorf("the user is %+v, %v", got, err)
		}
		for id, want := range map[string]error{"ses_1": session.ErrNotFound, "ses_2": nil, "ses_b": nil} {
			if _, _, _, err := s.SessionByHash(t.Context(), token.HashOf(id)); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", id, err, want)
			}
		}
		if _, err := s.ResetUser(t.Context(), token.HashOf("r1"), Start); !errors.Is(err, session.ErrResetNotFound) {
			t.Errorf("the permission: %v, want %v", err, session.ErrResetNotFound)
		}
		if f.knows("a@example.com", "d1", long) || !f.knows("b@example.com", "d2", long) {
			t.Error("a device of the user is known still, or one of another user is not")
		}
		for _, step := range []struct {
			user, was string
			want      error
		}{{u.ID, u.PasswordHash, session.ErrPasswordChanged}, {"usr_none", "", org.ErrUserNotFound}, {u.ID, "", nil}} {
			if err := s.SetPassword(t.Context(), somebody, step.user, step.was,
				"newer", later, nil); !errors.Is(err, step.want) {
				t.Errorf("SetPassword(%s, was %q) = %v, want %v", step.user, step.was, err, step.want)
			}
		}
	},
	"no session begins with a password that has changed": func(t *testing.T, f *Fixture) {
		s, u := f.Store(), f.User("usr_a", "a@example.com")
		if err := s.SetPassword(t.Context(), somebody, u.ID, "", "new", Start, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.CreateSession(t.Context(), somebody, u, newSession(u, "ses_1", Start)); !errors.Is(err,
			session.ErrPasswordChanged) {
			t.Errorf("CreateSession() = %v, want %v", err, session.ErrPasswordChanged)
		}
	},
	"a permission to set a password is used once and in time": func(t *testing.T, f *Fixture) {
		s, u := f.Store(), f.User("usr_a", "a@example.com")
		f.session(u, "ses_1", Start)
		f.reset(u.ID, "r1")
		f.reset(u.ID, "r2")
		if got, err := s.ResetUser(t.Context(), token.HashOf("r1"),
			Start.Add(time.Hour-time.Millisecond)); err != nil || got.ID != u.ID {
			t.Errorf("ResetUser() = %+v, %v", got, err)
		}
		for _, try := range []struct {
			text string
			at   time.Time
		}{{"x", Start}, {"r1", Start.Add(time.Hour)}} {
			if err := s.ResetPassword(t.Context(), somebody, token.HashOf(try.text), "new", try.at); !errors.Is(err,
				session.ErrResetNotFound) {
				t.Errorf("ResetPassword(%s, %s) = %v, want %v", try.text, try.at, err, session.ErrResetNotFound)
			}
		}
		ends := f.race(4, func(i int, s *store.Store) error {
			return s.ResetPassword(t.Context(), somebody, token.HashOf("r1"), fmt.Sprintf("new %d", i), Start)
		}, session.ErrResetNotFound)
		if ends[nil] != 1 {
			t.Errorf("ended as %v, want one that succeeded", ends)
		}
		if n := f.count("sessions") + f.count("password_resets"); n != 0 {
			t.Errorf("%d sessions and permissions are left", n)
		}
		if err := s.CreateReset(t.Context(), somebody,
			&session.Reset{UserID: "usr_none"}); !errors.Is(err, org.ErrUserNotFound) {
			t.Errorf("CreateReset() for nobody = %v", err)
		}
	},
	"attempts are counted exactly": func(t *testing.T, f *Fixture) {
		s := f.Store()
		now := Start.Truncate(time.Millisecond)
		try := func(at time.Time, want time.Duration, charges ...attempt.Charge) {
			t.Helper()
			var wait *attempt.Rejection
			if want > 0 {
				wait = &attempt.Rejection{Charge: charges[len(charges)-1], Wait: want}
			}
			rejection, err := s.Charge(t.Context(), at, charges...)
			if diff := cmp.Diff(wait, rejection); diff != "" || err != nil {
				t.Errorf("Charge(): %v (-want +got):\n%s", err, diff)
			}
		}
		a, b := charge("a"), charge("b")
		for range 3 {
			try(now, 0, a)
		}
		try(now, time.Minute, a)
		try(now.Add(time.Minute-time.Millisecond), time.Millisecond, a)
		try(now, time.Minute, b, a) // and none of b
		for range 3 {
			try(now, 0, b)
		}
		try(now.Add(time.Minute), 0, a)
		try(now.Add(time.Minute), time.Minute, a)
		if err := s.Refund(t.Context(), a, charge("c")); err != nil {
			t.Fatal(err)
		}
		try(now.Add(time.Minute), 0, a)
		for range 3 { // all that was paid for is over
			try(now.Add(time.Hour), 0, a)
		}
		try(now.Add(time.Hour), time.Minute, a)
		try(now, 0, a) // the clock was put back by an hour
		for range 2 {
			try(now, 0, a)
		}
		try(now, time.Minute, a)
	},
	"attempts of many processes are counted together": func(t *testing.T, f *Fixture) {
		errRejected := errors.New("refused")
		ends := f.race(8, func(i int, s *store.Store) error {
			// Everybody tries one account, each from another address.
			rejection, err := s.Charge(t.Context(), Start, charge(fmt.Sprintf("address %d", i)), charge("account"))
			if err == nil && rejection != nil {
				return errRejected
			}
			return err
		}, errRejected)
		if ends[nil] != 3 || ends[errRejected] != 5 {
			t.Errorf("ended as %v, want 3 that were let in", ends)
		}
		if n := f.count("attempts"); n != 4 {
			t.Errorf("%d were charged, want 3 addresses and the account", n)
		}
	},
	"what is past is removed": func(t *testing.T, f *Fixture) {
		s, o, u := f.Store(), f.Organization(), f.User("usr_a", "a@example.com")
		f.session(u, "ses_old", Start.Add(-2*time.Hour)) // expired an hour ago
		f.session(u, "ses_idle", Start.Add(-50*time.Minute))
		f.session(u, "ses_good", Start.Add(-20*time.Minute))
		f.reset(u.ID, "r1")
		f.invite(o.ID, "x@example.com", org.RoleViewer, "")
		f.device(u.ID, "", "d1", Start)
		f.verification(u.ID, "v1")
		if _, err := s.Charge(t.Context(), Start, charge("a")); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			now  time.Time
			want string
		}{
			{Start, "sessions 1, password_resets 1, email_verifications 1, invitations 1, attempts 1, devices 1"},
			{Start.Add(time.Hour), "invitations 1, attempts 1, devices 1"},
			{Start.Add(org.InvitationLife), "devices 1"},
			{Start.Add(session.DeviceLife), ""},
		} {
			if err := s.Prune(t.Context(), step.now, step.now.Add(-30*time.Minute)); err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, table := range []string{
				"sessions", "password_resets", "email_verifications", "invitations", "attempts", "devices",
			} {
				if n := f.count(table); n > 0 {
					left = append(left, fmt.Sprintf("%s %d", table, n))
				}
			}
			if got := strings.Join(left, ", "); got != step.want {
				t.Errorf("at %s: %s, want %s", step.now, got, step.want)
			}
		}
	},
	"what happens to an account is seen where the person belongs at that time": func(t *testing.T, f *Fixture) {
		s, u := f.Store(), f.User("usr_a", "a@example.com")
		first, second, other := f.Organization(), f.Organization(), f.Organization()
		f.join(first.ID, u.ID, org.RoleViewer)
		f.join(second.ID, u.ID, org.RoleOwner)
		f.member(other.ID, "usr_b", org.RoleOwner)
		f.session(u, "ses_1", Start)
		if _, err := s.RemoveMember(t.Context(), somebody,
			org.Departure{OrganizationID: first.ID, UserID: u.ID}, Start, anyRole); err != nil {
			t.Fatal(err)
		}
		for email, action := range map[string]string{u.Email: "signInFailed", "nobody@example.com": "signInFailed"} {
			if err := s.RecordRejectedPassword(t.Context(), somebody, email, action, Start); err != nil {
				t.Fatal(err)
			}
		}
		for id, want := range map[string][]string{
			first.ID: {"session.created"}, second.ID: {"session.created", "user.signInFailed"},
			other.ID: nil, "": {"user.created", "user.created"},
		} {
			entries, err := s.AuditEntries(t.Context(), audit.Filter{OrganizationID: id})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range entries {
				if e.ResourceType == "session" || e.ResourceType == "user" {
					got = append(got, e.Action)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("in %q (-want +got):\n%s", id, diff)
			}
		}
	},
	"every change of a session or a password leaves its entry": func(t *testing.T, f *Fixture) {
		s, u := f.Store(), f.User("usr_a", "a@example.com")
		for _, step := range []struct {
			want   []string
			change func(ctx context.Context) error
		}{
			{[]string{"session.created"}, func(ctx context.Context) error {
				return s.CreateSession(ctx, somebody, u, newSession(u, "ses_1", Start))
			}},
			{[]string{"session.created"}, func(ctx context.Context) error {
				return s.CreateSession(ctx, somebody, u, newSession(u, "ses_2", Start))
			}},
			{
				[]string{"session.ended"},
				func(ctx context.Context) error { return s.EndSession(ctx, somebody, u.ID, "ses_1", Start) },
			},
			{[]string{"session.ended"}, func(ctx context.Context) error {
				_, err := s.EndSessions(ctx, somebody, u.ID, "", Start)
				return err
			}},
			{[]string{"user.passwordRefused"}, func(ctx context.Context) error {
				return s.RecordRejectedPassword(ctx, somebody, u.Email, "passwordRefused", Start)
			}},
			{[]string{"user.passwordResetRequested"}, func(context.Context) error { f.reset(u.ID, "r1"); return nil }},
			{[]string{"user.emailVerified", "user.passwordReset"}, func(ctx context.Context) error {
				return s.ResetPassword(ctx, somebody, token.HashOf("r1"), "new", Start)
			}},
			{[]string{"session.created", "user.passwordChanged"}, func(ctx context.Context) error {
				return s.SetPassword(ctx, somebody, u.ID, "new", "newer", Start, newSession(u, "ses_3", Start))
			}},
		} {
			got := f.audited(func() error { return step.change(t.Context()) })
			if diff := cmp.Diff(step.want, got); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		}
	},
}
