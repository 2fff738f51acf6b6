package session_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/adapter/store/storetest"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/fair"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/session"
	"github.com/millrace/millrace/internal/tenant/token"
	"github.com/millrace/millrace/internal/testkit"
)

const (
	email    = "ann@example.com"
	password = "correct horse"
)

var lifetimes = session.Lifetimes{Idle: 14 * 24 * time.Hour, Absolute: 90 * 24 * time.Hour}

// passwords has cheap hashes, counts those that are verified and keeps the last share.
type passwords struct {
	*org.Passwords

	verified atomic.Int32
	share    fair.Owner
}

// Verify implements session.Passwords.
func (p *passwords) Verify(ctx context.Context, share fair.Owner, hash, password string) (bool, error) {
	p.verified.Add(1)
	p.share = share
	return p.Passwords.Verify(ctx, share, hash, password)
}

// Hash implements session.Passwords.
func (p *passwords) Hash(ctx context.Context, share fair.Owner, password string) (string, error) {
	p.share = share
	return p.Passwords.Hash(ctx, share, password)
}

// world is a service on a store of its own, with Ann in it, and a clock.
type world struct {
	*session.Service

	t   *testing.T
	db  *store.Store
	ann *org.User

	mu    sync.Mutex
	now   time.Time
	mails []string // recipient, subject and text
}

func newWorld(t *testing.T, change func(*session.Config, *session.Deps)) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	var err error
	if w.db, err = store.Open(t.Context(), storetest.SQLite(t), store.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.db.Close() })
	hashing := &passwords{Passwords: org.NewPasswordsAt(org.Costs{MemoryKiB: 8, Passes: 1, Lanes: 1})}
	hash, err := hashing.Hash(t.Context(), fair.Owner{}, password)
	if err != nil {
		t.Fatal(err)
	}
	if w.ann, err = org.NewUser(email, "Ann", hash, w.now); err != nil {
		t.Fatal(err)
	}
	w.ann.VerifiedAt = w.now
	o, err := org.New("Acme", w.now)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.db.CreateAccount(t.Context(), audit.BySystem(), w.ann, o); err != nil {
		t.Fatal(err)
	}
	cfg := session.Config{Lifetimes: lifetimes, SignUp: session.SignUpInvite, PublicURL: "https://api.example.com"}
	deps := session.Deps{
		Sessions: w.db, Devices: w.db, Accounts: w.db, Credentials: w.db, Attempts: w.db, Passwords: hashing, Mail: w,
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Now: w.clock,
	}
	if change != nil {
		change(&cfg, &deps)
	}
	w.Service = session.New(cfg, deps)
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// Send keeps a mail.
func (w *world) Send(_ context.Context, to, subject, text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mails = append(w.mails, to+"\n"+subject+"\n"+text)
	return nil
}

func (w *world) mail(n int) string {
	w.t.Helper()
	testkit.Eventually(w.t, 30*time.Second, func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.mails) < n {
			return fmt.Errorf("%d mails, want %d", len(w.mails), n)
		}
		return nil
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mails[n-1]
}

// run runs the service until the test ends.
func (w *world) run() {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("Run() = %v", err)
		}
	})
}

// from is a client at an address; "" is one of its own.
func from(addr string) session.Caller {
	return session.Caller{
		Addr: netip.MustParseAddr(addr), By: audit.By{Actor: audit.Actor{Type: audit.System}, IP: addr, UserAgent: "curl/8"},
	}
}

func (w *world) signIn() *session.Opened {
	w.t.Helper()
	return w.must(w.SignIn(w.t.Context(), from("192.0.2.1"), email, password))
}

// invite has Ann offer an editor's membership and returns the token.
func (w *world) invite(organizationID, email string, mailed bool) string {
	w.t.Helper()
	i, text, err := org.NewInvitation(organizationID, email, org.RoleEditor, w.ann.ID, w.clock())
	if err == nil {
		i.Mailed = mailed
		err = w.db.CreateInvitation(w.t.Context(), audit.BySystem(), i, func(org.Role) error { return nil })
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// must returns a session that has begun.
func (w *world) must(o *session.Opened, err error) *session.Opened {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// opens reports whether a token opens a session.
func (w *world) opens(token string) bool {
	w.t.Helper()
	_, user, _, err := w.SignedIn(w.t.Context(), token)
	if err != nil && !apierr.Is(err, apierr.AuthRequired) || err == nil && user.ID != w.ann.ID {
		w.t.Fatalf("SignedIn() = %+v, %v", user, err)
	}
	return err == nil
}

func TestASignInOpensASessionWhoseTokenIsKeptNowhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	o, err := w.SignIn(t.Context(), from("192.0.2.1"), " Ann@EXAMPLE.com", password)
	if err != nil {
		t.Fatal(err)
	}
	id, user, memberships, err := w.SignedIn(t.Context(), o.Token)
	if err != nil || id != o.Session.ID || user.Email != email || len(memberships) != 1 ||
		memberships[0].Role != org.RoleOwner {
		t.Errorf("SignedIn() = %s, %+v, %+v, %v", id, user, memberships, err)
	}
	if o.Session.Hash != token.HashOf(o.Token) || o.Session.IP != "192.0.2.1" || o.Session.UserAgent != "curl/8" {
		t.Errorf("the session is %+v", o.Session)
	}
	for _, other := range []string{"", "x", o.Token[1:], o.Session.ID, o.Token[:42] + "A"} {
		if other != o.Token && w.opens(other) {
			t.Errorf("%q opens a session", other)
		}
	}
}

func TestWhoHasNoAccountAndWhoHasAWrongPasswordLearnTheSame(t *testing.T) {
	t.Parallel()
	var verified *atomic.Int32
	w := newWorld(t, func(_ *session.Config, d *session.Deps) { verified = &d.Passwords.(*passwords).verified })
	for name, try := range map[string]struct{ email, password string }{
		"wrong password": {email, "wrong"},
		"no account":     {"bob@example.com", password},
		"no address":     {"bob", password},
		"no password":    {email, ""},
	} {
		before := verified.Load()
		_, err := w.SignIn(t.Context(), from("192.0.2.1"), try.email, try.password)
		if f := apierr.Of(err); f.Code != apierr.AuthRequired || f.Message != "Wrong e-mail address or password" ||
			f.Details != nil || f.RetryAfter != 0 {
			t.Errorf("%s: %+v", name, f)
		}
		// Nor does the time tell: the work is that of one password, also of nobody's,
		// which package org has take as long.
		if n := verified.Load() - before; n != 1 {
			t.Errorf("%s: %d passwords were verified, want 1", name, n)
		}
	}
}

func TestASessionEndsWhenItIsIdleAndWhenItIsOld(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	idle := w.signIn()
	w.pass(lifetimes.Idle - time.Millisecond)
	if !w.opens(idle.Token) {
		t.Error("it ended before it was idle for long enough")
	}
	w.pass(lifetimes.Idle)
	if w.opens(idle.Token) {
		t.Error("it opens something after it was idle for too long")
	}
	used := w.signIn()
	for range 8 { // 88 days, never idle for long
		w.pass(11 * 24 * time.Hour)
		if !w.opens(used.Token) {
			t.Fatal("a session in use ended")
		}
	}
	w.pass(2*24*time.Hour - time.Millisecond)
	if !w.opens(used.Token) {
		t.Error("it ended before its time")
	}
	w.pass(time.Millisecond)
	if w.opens(used.Token) {
		t.Error("it opens something after its time")
	}
}

func TestAClockThatIsPutBackSignsNobodyOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	o := w.signIn()
	w.pass(-24 * time.Hour)
	if !w.opens(o.Token) {
		t.Error("the session ended")
	}
}

func TestSigningInAnewEndsTheSessionBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	first, elsewhere := w.signIn(), w.signIn()
	c := from("192.0.2.1")
	c.Token = first.Token
	second, err := w.SignIn(t.Context(), c, email, password)
	if err != nil || second.Token == first.Token {
		t.Fatalf("SignIn() = %+v, %v", second, err)
	}
	for name, one := range map[string]struct {
		o    *session.Opened
		want bool
	}{"the one before": {first, false}, "the one elsewhere": {elsewhere, true}, "the new one": {second, true}} {
		if w.opens(one.o.Token) != one.want {
			t.Errorf("%s opens something: %t", name, !one.want)
		}
	}
	c.Token = second.Token
	for range 2 { // also when it has ended already
		if err := w.SignOut(t.Context(), c); err != nil || w.opens(second.Token) {
			t.Errorf("SignOut() = %v; the session is open: %t", err, w.opens(second.Token))
		}
	}
}

func TestANewPasswordEndsEverySessionAndBeginsOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	old := w.signIn()
	if _, err := w.ChangePassword(t.Context(), from("192.0.2.1"), w.ann,
		"wrong", "new password"); !apierr.Is(err, apierr.Validation) || !w.opens(old.Token) {
		t.Errorf("ChangePassword() with a wrong password = %v", err)
	}
	if _, err := w.ChangePassword(t.Context(), from("192.0.2.1"), w.ann,
		password, "short"); apierr.Of(err).Details[0].Field != "newPassword" {
		t.Errorf("ChangePassword() to a short one = %v", err)
	}
	o, err := w.ChangePassword(t.Context(), from("192.0.2.1"), w.ann, password, "new password")
	if err != nil {
		t.Fatal(err)
	}
	if w.opens(old.Token) || !w.opens(o.Token) {
		t.Error("the old session is open, or the new one is not")
	}
	if _, err := w.SignIn(t.Context(), from("192.0.2.1"), email, password); !apierr.Is(err, apierr.AuthRequired) {
		t.Errorf("signing in with the old password: %v", err)
	}
	if _, err := w.SignIn(t.Context(), from("192.0.2.1"), email, "new password"); err != nil {
		t.Errorf("signing in with the new password: %v", err)
	}
	if got := w.mail(1); !regexp.MustCompile(`^ann@example\.com\nYour Millrace password was changed\n`).MatchString(got) {
		t.Errorf("the mail is %s", got)
	}
}

var tokenLine = regexp.MustCompile(`(?m)^    ([A-Za-z0-9_-]{43})$`)

func TestAForgottenPasswordIsReplacedWithAMailedToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.run()
	old := w.signIn()
	// Asked first: its turn comes first, and nothing is mailed.
	for _, who := range []string{"bob@example.com", "Ann@Example.com"} {
		if err := w.ForgotPassword(t.Context(), from("192.0.2.1"), who); err != nil {
			t.Fatal(err)
		}
	}
	found := tokenLine.FindStringSubmatch(w.mail(1))
	if found == nil || w.mail(1)[:len(email)] != email {
		t.Fatalf("the mail is %s", w.mail(1))
	}
	reset := func(text, password string) error {
		_, err := w.ResetPassword(t.Context(), from("192.0.2.1"), text, password)
		return err
	}
	if err := reset(found[1], "short"); apierr.Of(err).Details[0].Field != "newPassword" || !w.opens(old.Token) {
		t.Errorf("with a short password: %v", err)
	}
	wrong, _ := token.New()
	for _, text := range []string{"", "x", wrong} {
		if err := reset(text, "new password"); apierr.Of(err).Details[0].Field != "token" {
			t.Errorf("with the token %q: %v", text, err)
		}
	}
	if err := reset(found[1], "new password"); err != nil || w.opens(old.Token) {
		t.Errorf("ResetPassword() = %v; the old session is open: %t", err, w.opens(old.Token))
	}
	if err := reset(found[1], "newer password"); !apierr.Is(err, apierr.Validation) {
		t.Errorf("a second time: %v", err)
	}
	if _, err := w.SignIn(t.Context(), from("192.0.2.1"), email, "new password"); err != nil {
		t.Errorf("signing in with the new password: %v", err)
	}
	w.mail(2) // that it was changed
}

func TestAMailedTokenIsPastAfterAnHour(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.run()
	if err := w.ForgotPassword(t.Context(), from("192.0.2.1"), email); err != nil {
		t.Fatal(err)
	}
	text := tokenLine.FindStringSubmatch(w.mail(1))[1]
	w.pass(session.ResetLife)
	_, err := w.ResetPassword(t.Context(), from("192.0.2.1"), text, "new password")
	if !apierr.Is(err, apierr.Validation) {
		t.Errorf("ResetPassword() = %v", err)
	}
}

func TestMailsToAnAddressAreBoundedWhetherItHasAnAccountOrNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, who := range []string{email, "bob@example.com"} {
		for i := range session.Allowances.AccountResets.Burst + 1 {
			err := w.ForgotPassword(t.Context(), from(fmt.Sprintf("192.0.2.%d", i)), who)
			if want := i == session.Allowances.AccountResets.Burst; apierr.Is(err, apierr.RateLimited) != want ||
				!want && err != nil {
				t.Errorf("%s, request %d: %v", who, i+1, err)
			}
		}
	}
}

func TestWithoutAMailServerAForgottenPasswordIsTheOperatorsBusiness(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *session.Config, d *session.Deps) { d.Mail = nil })
	if err := w.ForgotPassword(t.Context(), from("192.0.2.1"), email); !apierr.Is(err, apierr.Forbidden) {
		t.Errorf("ForgotPassword() = %v", err)
	}
}

func TestWhoMaySignUpIsASetting(t *testing.T) {
	t.Parallel()
	const invited, stranger = "carl@example.com", "dora@example.com"
	for _, tc := range []struct {
		mode    session.SignUp
		email   string
		invited bool
		want    string // a code, an error's text, or ""
	}{
		{session.SignUpOpen, stranger, false, ""},
		{session.SignUpOpen, invited, true, ""},
		{session.SignUpOpen, email, false, org.ErrEmailTaken.Error()},
		{session.SignUpInvite, stranger, false, "FORBIDDEN"},
		{session.SignUpInvite, invited, true, ""},
		{session.SignUpInvite, stranger, true, org.ErrInvitationNotFound.Error()},
		{session.SignUpInvite, email, true, org.ErrInvitationNotFound.Error()},
		{session.SignUpOff, invited, true, "FORBIDDEN"},
		{session.SignUpOff, stranger, false, "FORBIDDEN"},
		{"", stranger, false, "FORBIDDEN"},
	} {
		t.Run(fmt.Sprintf("%s %s %t", tc.mode, tc.email, tc.invited), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *session.Config, _ *session.Deps) { c.SignUp = tc.mode })
			memberships, err := w.Memberships(t.Context(), w.ann.ID)
			if err != nil {
				t.Fatal(err)
			}
			text := w.invite(memberships[0].OrganizationID, invited, false)
			in := session.NewAccount{Email: tc.email, Name: "New", Password: "new password"}
			if tc.invited {
				in.Invitation = text
			}
			o, err := w.SignUp(t.Context(), from("192.0.2.1"), in)
			if tc.want != "" {
				if err == nil || !regexp.MustCompile(tc.want).MatchString(err.Error()) {
					t.Errorf("SignUp() = %v, want %s", err, tc.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			_, user, members, err := w.SignedIn(t.Context(), o.Token)
			want := map[bool]org.Role{true: org.RoleEditor, false: org.RoleOwner}[tc.invited]
			if err != nil || user.Email != tc.email || len(members) != 1 || members[0].Role != want {
				t.Errorf("the account is %+v in %+v, %v", user, members, err)
			}
		})
	}
}

func TestSigningUpNamesTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *session.Config, _ *session.Deps) { c.SignUp = session.SignUpOpen })
	good := session.NewAccount{Email: "new@example.com", Name: "New", Password: "new password", Organization: "Acme"}
	for field, spoil := range map[string]func(*session.NewAccount){
		"email":        func(a *session.NewAccount) { a.Email = "new" },
		"name":         func(a *session.NewAccount) { a.Name = "\u202eweN" },
		"password":     func(a *session.NewAccount) { a.Password = "short" },
		"organization": func(a *session.NewAccount) { a.Organization = "A\ncme" },
	} {
		in := good
		spoil(&in)
		_, err := w.SignUp(t.Context(), from("192.0.2.1"), in)
		if f := apierr.Of(err); f.Code != apierr.Validation || f.Details[0].Field != field {
			t.Errorf("%s: %+v", field, f)
		}
	}
	if users, err := w.db.ListUsers(t.Context(), "", 0); err != nil || len(users) != 1 {
		t.Errorf("%d users, %v, want Ann alone", len(users), err)
	}
}

func TestAPersonSeesAndEndsTheirOwnSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	first := w.signIn()
	w.pass(time.Hour)
	second := w.signIn()
	all, err := w.List(t.Context(), w.ann.ID)
	if err != nil || len(all) != 2 || all[0].ID != second.Session.ID {
		t.Fatalf("List() = %+v, %v, want two, the newest first", all, err)
	}
	by := audit.By{Actor: audit.Actor{Type: audit.User, ID: w.ann.ID, Name: email}}
	if err := w.End(t.Context(), by, "usr_other", first.Session.ID); !errors.Is(err, session.ErrNotFound) ||
		!w.opens(first.Token) {
		t.Errorf("End() by another user = %v", err)
	}
	if n, err := w.EndOthers(t.Context(), by, w.ann.ID, second.Session.ID); n != 1 || err != nil || w.opens(first.Token) ||
		!w.opens(second.Token) {
		t.Errorf("EndOthers() = %d, %v", n, err)
	}
	w.pass(lifetimes.Idle)
	if all, err := w.List(t.Context(), w.ann.ID); err != nil || len(all) != 0 {
		t.Errorf("List() of idle sessions = %+v, %v", all, err)
	}
}

func TestAStoreThatIsAwayIsNoReasonToDoubtASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	o := w.signIn()
	w.db.Close()
	if _, _, _, err := w.SignedIn(t.Context(), o.Token); !apierr.Is(err, apierr.ServiceUnavailable) {
		t.Errorf("SignedIn() = %v", err)
	}
	if _, _, _, err := w.SignedIn(t.Context(), "x"); !apierr.Is(err, apierr.AuthRequired) {
		t.Errorf("SignedIn() of no token = %v", err)
	}
}
