package session_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/session"
)

const stranger = "dora@example.com"

// openWorld is a world in which anybody may sign up.
func openWorld(t *testing.T) *world {
	t.Helper()
	return newWorld(t, func(c *session.Config, _ *session.Deps) { c.SignUp = session.SignUpOpen })
}

// join has somebody sign up, with an invitation unless that is empty.
func (w *world) join(email, invitation string) *org.User {
	w.t.Helper()
	return w.must(w.SignUp(w.t.Context(), from("192.0.2.1"), session.NewAccount{
		Email: email, Name: "Win a prize", Organization: "at evil.example", Password: password, Invitation: invitation,
	})).User
}

// verified reports whether the store knows the address of a user as verified.
func (w *world) verified(u *org.User) bool {
	w.t.Helper()
	found, err := w.db.UserByID(w.t.Context(), u.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return found.Verified()
}

// sent returns how many mails were sent.
func (w *world) sent() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.mails)
}

func TestWhoSignsUpVerifiesTheirAddressWithAMailedToken(t *testing.T) {
	t.Parallel()
	w := openWorld(t)
	dora, eve := w.join(stranger, ""), w.join("eve@example.com", "")
	if dora.Verified() || w.verified(dora) {
		t.Error("the address is verified from the beginning")
	}
	text := tokenLine.FindStringSubmatch(w.mail(1))
	if text == nil || !strings.HasPrefix(w.mail(1), stranger+"\nVerify your e-mail address for Millrace\n") {
		t.Fatalf("the mail is %s", w.mail(1))
	}
	if strings.Contains(w.mail(1), "prize") || strings.Contains(w.mail(1), "evil") {
		t.Errorf("the mail holds what a stranger wrote: %s", w.mail(1))
	}
	verify := func(u *org.User, text string) error {
		_, err := w.VerifyEmail(t.Context(), from("192.0.2.1"), u, text)
		return err
	}
	for name, try := range map[string]struct {
		user *org.User
		text string
	}{"another's": {eve, text[1]}, "no token": {dora, "x"}, "a wrong one": {dora, strings.Repeat("A", 43)}} {
		if f := apierr.Of(verify(try.user, try.text)); f.Code != apierr.Validation || f.Details[0].Field != "token" {
			t.Errorf("with %s: %+v", name, f)
		}
	}
	w.pass(session.VerificationLife - time.Millisecond)
	if err := verify(dora, text[1]); err != nil || !w.verified(dora) || w.verified(eve) {
		t.Errorf("VerifyEmail() = %v", err)
	}
	dora.VerifiedAt = w.clock()
	if err := verify(dora, text[1]); !errors.Is(err, session.ErrVerified) {
		t.Errorf("a second time: %v", err)
	}
	w.pass(time.Millisecond)
	if err := verify(eve, tokenLine.FindStringSubmatch(w.mail(2))[1]); !apierr.Is(err, apierr.Validation) {
		t.Errorf("with a token that is past: %v", err)
	}
}

func TestAnInvitationVerifiesOnlyWhenItWasMailed(t *testing.T) {
	t.Parallel()
	w := openWorld(t)
	memberships, err := w.Memberships(t.Context(), w.ann.ID)
	if err != nil {
		t.Fatal(err)
	}
	for email, mailed := range map[string]bool{"mailed@example.com": true, "shown@example.com": false} {
		u := w.join(email, w.invite(memberships[0].OrganizationID, email, mailed))
		if u.Verified() != mailed || w.verified(u) != mailed {
			t.Errorf("%s: verified %t", email, u.Verified())
		}
	}
	if n := w.sent(); n != 1 {
		t.Errorf("%d mails, want one to who is not verified", n)
	}
}

func TestMailsThatVerifyAnAddressAreBounded(t *testing.T) {
	t.Parallel()
	w := openWorld(t)
	dora := w.join(stranger, "") // mails one
	a := session.Allowances.AccountVerifications
	again := func() error { return w.SendVerification(t.Context(), from("192.0.2.1"), dora) }
	for i := 1; i <= a.Burst; i++ {
		if err := again(); apierr.Is(err, apierr.RateLimited) != (i == a.Burst) {
			t.Fatalf("mail %d: %v", i+1, err)
		}
	}
	w.pass(a.Interval)
	if err := again(); err != nil || w.sent() != a.Burst+1 {
		t.Errorf("after the pause: %v, %d mails", err, w.sent())
	}
	if err := w.SendVerification(t.Context(), from("192.0.2.1"), w.ann); !errors.Is(err, session.ErrVerified) {
		t.Errorf("for a verified address: %v", err)
	}
}

func TestAStrangersAddressIsToldOfNoNewPassword(t *testing.T) {
	t.Parallel()
	w := openWorld(t)
	dora := w.join(stranger, "")
	if _, err := w.ChangePassword(t.Context(), from("192.0.2.1"), dora, password, "new password"); err != nil {
		t.Fatal(err)
	}
	if n := w.sent(); n != 1 {
		t.Errorf("%d mails, want the one that verifies", n)
	}
}

func TestAPasswordSetWithAMailedTokenVerifiesTheAddress(t *testing.T) {
	t.Parallel()
	w := openWorld(t)
	w.run()
	dora := w.join(stranger, "")
	if err := w.ForgotPassword(t.Context(), from("192.0.2.1"), stranger); err != nil {
		t.Fatal(err)
	}
	text := tokenLine.FindStringSubmatch(w.mail(2))[1]
	_, err := w.ResetPassword(t.Context(), from("192.0.2.1"), text, "new password")
	if err != nil || !w.verified(dora) {
		t.Errorf("ResetPassword() = %v", err)
	}
	if !strings.HasPrefix(w.mail(3), stranger+"\nYour Millrace password was changed") {
		t.Errorf("the mail is %s", w.mail(3))
	}
}

func TestWithoutAMailServerNobodyHasToVerifyAnything(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *session.Config, d *session.Deps) { c.SignUp, d.Mail = session.SignUpOpen, nil })
	dora := w.join(stranger, "")
	if err := w.SendVerification(t.Context(), from("192.0.2.1"), dora); !apierr.Is(err, apierr.Forbidden) {
		t.Errorf("SendVerification() = %v", err)
	}
}
