package session_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/fair"
	"github.com/millrace/millrace/internal/tenant/attempt"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/session"
	"github.com/millrace/millrace/internal/testkit"
)

func TestFailuresOfAnAccountAreBoundedWhetherThereIsOneOrNot(t *testing.T) {
	t.Parallel()
	for _, who := range []string{email, "bob@example.com"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			try := func(i int, password string) error {
				_, err := w.SignIn(t.Context(), from(fmt.Sprintf("192.0.2.%d", i)), who, password)
				return err
			}
			burst := session.Allowances.AccountSignIns.Burst
			for i := range burst {
				if err := try(i, "wrong"); !apierr.Is(err, apierr.AuthRequired) {
					t.Fatalf("failure %d: %v", i+1, err)
				}
			}
			err := try(100, password) // not even with the right one
			f := apierr.Of(err)
			if f.Code != apierr.RateLimited || f.RetryAfter != session.Allowances.AccountSignIns.Interval {
				t.Errorf("failure %d: %+v", burst+1, f)
			}
			w.pass(session.Allowances.AccountSignIns.Interval)
			if err := try(101, password); (err == nil) != (who == email) || apierr.Is(err, apierr.RateLimited) {
				t.Errorf("after the pause: %v", err)
			}
		})
	}
}

func TestFailuresOfAClientAreBoundedAndOfIPv6ANetworkIsOne(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]func(int) string{
		"IPv4": func(int) string { return "192.0.2.7" },
		"IPv6": func(i int) string { return fmt.Sprintf("2001:db8:0:1::%x", i+1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			burst := session.Allowances.AddressSignIns.Burst
			for i := range burst + 1 {
				_, err := w.SignIn(t.Context(), from(address(i)), fmt.Sprintf("u%d@example.com", i), "wrong")
				if want := i == burst; apierr.Is(err, apierr.RateLimited) != want {
					t.Fatalf("failure %d: %v", i+1, err)
				}
			}
			if _, err := w.SignIn(t.Context(), from("2001:db8:0:2::1"), email, password); err != nil {
				t.Errorf("from elsewhere: %v", err)
			}
		})
	}
}

func TestSignInsThatSucceedAreNotCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for range session.Allowances.AccountSignIns.Burst + 2 {
		w.signIn()
	}
}

// tryWrong signs in as Ann with a wrong password as often as an allowance lets, and once
// more, and has the last alone be told to wait.
func (w *world) tryWrong(a attempt.Allowance, from func(i int) session.Caller) {
	w.t.Helper()
	for i := range a.Burst + 1 {
		_, err := w.SignIn(w.t.Context(), from(i), email, "wrong")
		want := apierr.AuthRequired
		if i == a.Burst {
			want = apierr.RateLimited
		}
		if !apierr.Is(err, want) {
			w.t.Fatalf("failure %d: %v, want %s", i+1, err, want)
		}
	}
}

// lockOut has strangers fail from many networks until Ann's account takes no more of them.
func (w *world) lockOut() {
	w.t.Helper()
	w.tryWrong(session.Allowances.AccountSignIns, func(i int) session.Caller {
		return from(fmt.Sprintf("203.0.113.%d", i))
	})
}

func TestFailuresFromOneNetworkKeepNobodyElsewhereOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.tryWrong(session.Allowances.NetworkAccountSignIns, func(int) session.Caller { return from("203.0.113.7") })
	if _, err := w.SignIn(t.Context(), from("203.0.113.7"), email, password); !apierr.Is(err, apierr.RateLimited) {
		t.Errorf("from the same network: %v", err)
	}
	if _, err := w.SignIn(t.Context(), from("192.0.2.1"), email, password); err != nil {
		t.Errorf("from another network: %v", err)
	}
	_, err := w.SignIn(t.Context(), from("203.0.113.7"), "bob@example.com", password)
	if !apierr.Is(err, apierr.AuthRequired) {
		t.Errorf("another account from the same network: %v", err)
	}
}

func TestNobodysFailuresKeepOutWhomTheAccountKnows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	o := w.signIn()
	w.lockOut()
	stranger, device, signedIn := from("192.0.2.1"), from("192.0.2.1"), from("192.0.2.1")
	device.Device, signedIn.Token = o.Device, o.Token
	if _, err := w.SignIn(t.Context(), stranger, email, password); !apierr.Is(err, apierr.RateLimited) {
		t.Errorf("a client that the account does not know: %v", err)
	}
	if _, err := w.ChangePassword(t.Context(), signedIn, w.ann, password, "new password"); err != nil {
		t.Errorf("changing the password in a session: %v", err)
	}
	if _, err := w.SignIn(t.Context(), device, email, "new password"); !apierr.Is(err, apierr.RateLimited) {
		t.Errorf("a device of the time before the new password: %v", err)
	}
}

// org.Passwords gives each of these shares its turns, whatever waits in the others.
func TestService_HashesInTheShareOfTheClient(t *testing.T) {
	t.Parallel()
	var hashing *passwords
	w := newWorld(t, func(_ *session.Config, d *session.Deps) { hashing = d.Passwords.(*passwords) })
	w.run()
	client := func(addr, device, token string) session.Caller {
		c := from(addr)
		c.Device, c.Token = device, token
		return c
	}
	known := fair.Owner{Tenant: "known", Name: email}
	expect := func(name string, want fair.Owner, err error) {
		t.Helper()
		if err != nil || hashing.share != want {
			t.Errorf("%s: the share of %v, %v; want that of %v", name, hashing.share, err, want)
		}
	}
	signIn := func(c session.Caller) *session.Opened {
		t.Helper()
		return w.must(w.SignIn(t.Context(), c, email, password))
	}
	_, err := w.SignIn(t.Context(), from("2001:db8::1"), email, "wrong")
	if !apierr.Is(err, apierr.AuthRequired) {
		t.Fatal(err)
	}
	o := signIn(from("2001:db8::2"))
	expect("after a wrong password", fair.Owner{Tenant: "stranger", Name: "2001:db8::/64"}, nil)
	_, err = w.SignIn(t.Context(), from("2001:db8::3"), "bob@example.com", "wrong")
	if !apierr.Is(err, apierr.AuthRequired) {
		t.Fatal(err)
	}
	expect("a network that signed in", fair.Owner{Tenant: "recent", Name: "2001:db8::/64"}, nil)
	o = signIn(client("192.0.2.1", o.Device, ""))
	expect("a device", known, nil)
	o = signIn(client("192.0.2.2", "", o.Token))
	expect("a session", known, nil)
	_, err = w.ChangePassword(t.Context(), client("192.0.2.3", "", o.Token), w.ann, password, "new password")
	expect("a new password", known, err)
	if err := w.ForgotPassword(t.Context(), from("192.0.2.4"), email); err != nil {
		t.Fatal(err)
	}
	reset := tokenLine.FindStringSubmatch(w.mail(2))[1]
	_, err = w.ResetPassword(t.Context(), from("192.0.2.4"), reset, "another password")
	expect("a password reset", known, err)
	memberships, err := w.Memberships(t.Context(), w.ann.ID)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.SignUp(t.Context(), from("192.0.2.5"), session.NewAccount{
		Email: "bob@example.com", Name: "Bob", Password: password,
		Invitation: w.invite(memberships[0].OrganizationID, "bob@example.com", true),
	})
	expect("a sign-up", fair.Owner{Tenant: "stranger", Name: "192.0.2.5"}, err)
	w.pass(session.RecentFor)
	_, err = w.SignIn(t.Context(), from("2001:db8::4"), email, "wrong")
	if !apierr.Is(err, apierr.AuthRequired) {
		t.Fatal(err)
	}
	expect("a network that signed in long ago", fair.Owner{Tenant: "stranger", Name: "2001:db8::/64"}, nil)
}

func TestADeviceSignsInThroughALockOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	c := from("192.0.2.1")
	c.Device = w.signIn().Device
	for range 2 { // each sign-in gives a new token, and the one before is good for nothing
		w.lockOut()
		o, err := w.SignIn(t.Context(), c, email, password)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.SignIn(t.Context(), c, email, password); !apierr.Is(err, apierr.RateLimited) {
			t.Errorf("with the token of the device before: %v", err)
		}
		c.Device = o.Device
		w.pass(time.Hour)
	}
	signedIn := from("192.0.2.1")
	signedIn.Token = w.must(w.SignIn(t.Context(), c, email, password)).Token
	w.lockOut()
	if _, err := w.SignIn(t.Context(), signedIn, email, password); err != nil {
		t.Errorf("with a session: %v", err)
	}
}

func TestADevicesOwnFailuresAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	c := from("192.0.2.1")
	c.Device = w.signIn().Device
	w.tryWrong(session.Allowances.KnownSignIns, func(int) session.Caller { return c })
	if _, err := w.SignIn(t.Context(), from("192.0.2.1"), email, password); err != nil {
		t.Errorf("what a device fails counts against others: %v", err)
	}
}

func TestASessionsGuessesAtTheCurrentPasswordAreBoundedAndKeepNobodyOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	c := from("192.0.2.1")
	c.Token = w.signIn().Token
	burst := session.Allowances.KnownSignIns.Burst
	for i := range burst + 1 {
		_, err := w.ChangePassword(t.Context(), c, w.ann, "wrong", "new password")
		if want := i == burst; apierr.Is(err, apierr.RateLimited) != want {
			t.Fatalf("guess %d: %v", i+1, err)
		}
	}
	if _, err := w.SignIn(t.Context(), from("192.0.2.1"), email, password); err != nil {
		t.Errorf("signing in: %v", err)
	}
}

func TestADeviceIsKnownToItsAccountAloneAndForAWhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	bob, err := org.NewUser("bob@example.com", "Bob", w.ann.PasswordHash, w.clock())
	if err == nil {
		err = w.db.CreateUser(t.Context(), from("192.0.2.1").By, bob)
	}
	if err != nil {
		t.Fatal(err)
	}
	of := func(o *session.Opened) session.Caller {
		c := from("192.0.2.1")
		c.Device = o.Device
		return c
	}
	bobs := of(w.must(w.SignIn(t.Context(), from("192.0.2.1"), bob.Email, password)))
	anns := of(w.signIn())
	forged := from("192.0.2.1")
	forged.Device = anns.Device[:42] + "x"
	w.pass(session.DeviceLife - time.Millisecond)
	w.lockOut()
	for name, c := range map[string]session.Caller{"another's": bobs, "a forged one": forged} {
		if _, err := w.SignIn(t.Context(), c, email, password); !apierr.Is(err, apierr.RateLimited) {
			t.Errorf("with %s: %v", name, err)
		}
	}
	w.pass(time.Millisecond)
	if _, err := w.SignIn(t.Context(), anns, email, password); !apierr.Is(err, apierr.RateLimited) {
		t.Errorf("when it is past: %v", err)
	}
}

func TestAPasswordSetWithAMailedTokenOpensALockedDoor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.run()
	w.lockOut()
	c := from("203.0.113.7") // the network that failed most
	if err := w.ForgotPassword(t.Context(), c, email); err != nil {
		t.Fatal(err)
	}
	text := tokenLine.FindStringSubmatch(w.mail(1))[1]
	var err error
	if c.Device, err = w.ResetPassword(t.Context(), c, text, "new password"); err != nil || c.Device == "" {
		t.Fatalf("ResetPassword() = %q, %v", c.Device, err)
	}
	if _, err := w.SignIn(t.Context(), c, email, "new password"); err != nil {
		t.Errorf("signing in: %v", err)
	}
}

func TestWrongPasswordsAreInTheAuditOfTheOwnersOrganization(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.run()
	memberships, err := w.Memberships(t.Context(), w.ann.ID)
	if err != nil {
		t.Fatal(err)
	}
	c := from("192.0.2.1")
	c.Token = w.signIn().Token
	for _, who := range []string{"nobody@example.com", email} {
		if _, err := w.SignIn(t.Context(), from("203.0.113.7"), who, "wrong"); !apierr.Is(err, apierr.AuthRequired) {
			t.Fatal(err)
		}
	}
	if _, err := w.ChangePassword(t.Context(), c, w.ann, "wrong", "new password"); !apierr.Is(err, apierr.Validation) {
		t.Fatal(err)
	}
	type event struct {
		Action, Resource, Name, IP string
		Actor                      audit.Actor
	}
	ann := audit.Actor{Type: audit.User, ID: w.ann.ID, Name: email}
	filter := audit.Filter{OrganizationID: memberships[0].OrganizationID, ResourceType: "user"}
	want := []event{
		{"user.passwordRefused", w.ann.ID, email, "192.0.2.1", ann},
		{"user.signInFailed", w.ann.ID, email, "203.0.113.7", audit.Actor{Type: audit.System}},
	}
	testkit.Eventually(t, 30*time.Second, func() error {
		entries, err := w.db.AuditEntries(t.Context(), filter)
		var got []event
		for _, e := range entries {
			got = append(got, event{e.Action, e.ResourceID, e.ResourceName, e.By.IP, e.By.Actor})
		}
		slices.SortFunc(got, func(a, b event) int { return strings.Compare(a.Action, b.Action) })
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			return fmt.Errorf("entries: %w (-want +got):\n%s", err, diff)
		}
		return nil
	})
}

func TestWrongPasswordsThatCameBeforeAStopAreRemembered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	if _, err := w.SignIn(t.Context(), from("203.0.113.7"), email, "wrong"); !apierr.Is(err, apierr.AuthRequired) {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	entries, err := w.db.AuditEntries(t.Context(), audit.Filter{EveryOrganization: true, Action: "user.signInFailed"})
	if err != nil || len(entries) != 1 {
		t.Errorf("%d entries, %v, want 1", len(entries), err)
	}
}
