package redirect

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/fair"
	"github.com/millrace/millrace/internal/resource/link"
)

func guarded() *link.Link {
	return &link.Link{
		Slug: "vault", Enabled: true, URL: "https://a.example", PasswordHash: "#secret", Secret: []byte("sixteen bytes .."),
	}
}

func typed(password string) func(*Request) {
	return func(r *Request) { r.Posted, r.Password = true, []byte(password) }
}

func with(pass string) func(*Request) { return func(r *Request) { r.Pass = []byte(pass) } }

func TestAPasswordOpensALinkForAnHour(t *testing.T) {
	t.Parallel()
	s := newStage(t, guarded())
	if a, err := s.ask(t, "vault", nil); err != nil || a.Kind != AskPassword {
		t.Fatalf("without: %+v, %v", a, err)
	}
	if _, err := s.ask(t, "vault", typed("Secret")); code(err) != apierr.Forbidden {
		t.Fatalf("a wrong one: %v", err)
	}
	given, err := s.ask(t, "vault", typed("secret"))
	if err != nil || given.Kind != Accepted || given.Pass == "" || len(given.Location) != 0 {
		t.Fatalf("the right one: %+v, %v", given, err)
	}
	for after, want := range map[time.Duration]Kind{
		0: Redirected, PassFor - time.Second: Redirected, PassFor: AskPassword,
	} {
		s.now = noon.Add(after)
		if a, err := s.ask(t, "vault", with(given.Pass)); err != nil || a.Kind != want {
			t.Errorf("after %v: %+v, %v", after, a, err)
		}
	}
	if len(s.clicks) != 2 {
		t.Errorf("%d clicks, want those of both redirects", len(s.clicks))
	}
}

func TestAPassIsForOneLinkAndOnePassword(t *testing.T) {
	t.Parallel()
	s := newStage(t, guarded())
	given, err := s.ask(t, "vault", typed("secret"))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*link.Link){
		"the same":         func(l *link.Link) { l.URL, l.Version = "https://b.example", 9 },
		"another id":       func(l *link.Link) { l.ID = "lnk_other" },
		"another password": func(l *link.Link) { l.PasswordHash = "#Secret" },
		"another secret":   func(l *link.Link) { l.Secret = []byte("another secret..") },
	} {
		l := guarded()
		change(l)
		s.put(l)
		want := AskPassword
		if name == "the same" {
			want = Redirected
		}
		if a, err := s.ask(t, "vault", with(given.Pass)); err != nil || a.Kind != want {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

func TestAForgedPassOpensNothing(t *testing.T) {
	t.Parallel()
	l := guarded().Served()
	pass := newPass(l, noon.Add(PassFor))
	if !passes(l, []byte(pass), noon) {
		t.Fatal("the pass is none")
	}
	for i := range pass {
		forged := []byte(pass)
		forged[i] ^= 1
		if passes(l, forged, noon) {
			t.Errorf("with another character at %d it is one", i)
		}
	}
	for _, text := range []string{"", pass[1:], pass + "A", strings.Repeat("A", len(pass))} {
		if passes(l, []byte(text), noon) {
			t.Errorf("%q is one", text)
		}
	}
}

func TestFivePasswordsAMinuteOfAnAddressForALink(t *testing.T) {
	t.Parallel()
	other := guarded()
	other.Slug = "other"
	s := newStage(t, guarded(), other)
	for range MaxPasswords {
		if _, err := s.ask(t, "vault", typed("wrong")); code(err) != apierr.Forbidden {
			t.Fatal(err)
		}
		if _, err := s.ask(t, "other", typed("secret")); err != nil { // right ones do not count
			t.Fatal(err)
		}
	}
	if _, err := s.ask(t, "vault", typed("secret")); code(err) != apierr.RateLimited {
		t.Errorf("the sixth: %v", err)
	}
	if _, err := s.ask(t, "other", typed("wrong")); code(err) != apierr.Forbidden {
		t.Errorf("for another link: %v", err)
	}
	elsewhere := func(r *Request) { typed("secret")(r); r.Addr = netip.MustParseAddr("2001:db8::1") }
	if _, err := s.ask(t, "vault", elsewhere); err != nil {
		t.Errorf("of another address: %v", err)
	}
	s.pass(Window)
	if _, err := s.ask(t, "vault", typed("secret")); err != nil {
		t.Errorf("a minute later: %v", err)
	}
}

func TestHost_VerifiesAPasswordInTheNetworksShare(t *testing.T) {
	t.Parallel()
	l := guarded()
	l.OrganizationID = "org_1"
	s := newStage(t, l)
	for i, want := range []string{"org_1", "org_1", "org_1 recent"} {
		password := []string{"wrong", "secret", "secret"}[i]
		_, _ = s.ask(t, "vault", func(r *Request) {
			typed(password)(r)
			r.Addr = netip.MustParseAddr("::ffff:192.0.2.7")
		})
		if s.share != (fair.Owner{Tenant: want, Name: "192.0.2.7"}) {
			t.Errorf("password %d: the share of %v, want that of %s", i, s.share, want)
		}
	}
}

// fromNetwork sends a password from the nth network.
func fromNetwork(n int, password string) func(*Request) {
	return func(r *Request) {
		typed(password)(r)
		r.Addr = netip.AddrFrom4([4]byte{203, 0, 113, byte(n)})
	}
}

func TestHost_CountsPasswordsOfALinkFromAllNetworks(t *testing.T) {
	t.Parallel()
	other := guarded()
	other.Slug = "other"
	s := newStage(t, guarded(), other)
	if _, err := s.ask(t, "vault", typed("secret")); err != nil {
		t.Fatal(err)
	}
	for i := range MaxLinkPasswords - 1 {
		if _, err := s.ask(t, "vault", fromNetwork(i, "wrong")); code(err) != apierr.Forbidden {
			t.Fatalf("password %d: %v", i, err)
		}
	}
	for range MaxLinkPasswords { // right ones do not count
		if _, err := s.ask(t, "vault", fromNetwork(200, "secret")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.ask(t, "vault", fromNetwork(201, "wrong")); code(err) != apierr.Forbidden {
		t.Errorf("the last that is allowed: %v", err)
	}
	_, err := s.ask(t, "vault", fromNetwork(202, "secret"))
	if f := apierr.Of(err); code(err) != apierr.RateLimited || f.RetryAfter <= 0 || f.RetryAfter > Window {
		t.Errorf("one more: %v", err)
	}
	if _, err := s.ask(t, "other", fromNetwork(202, "secret")); err != nil {
		t.Errorf("another link: %v", err)
	}
	s.pass(Window)
	for range MaxPasswords { // the rejected one did not count either
		if _, err := s.ask(t, "vault", fromNetwork(202, "wrong")); code(err) != apierr.Forbidden {
			t.Errorf("a minute later: %v", err)
		}
	}
}

func TestHost_KeepsARecentNetworkOutOfALinksCount(t *testing.T) {
	t.Parallel()
	s := newStage(t, guarded())
	flood := func() {
		for i := range MaxLinkPasswords {
			if _, err := s.ask(t, "vault", fromNetwork(i, "wrong")); code(err) != apierr.Forbidden {
				t.Fatalf("password %d: %v", i, err)
			}
		}
	}
	if _, err := s.ask(t, "vault", typed("secret")); err != nil {
		t.Fatal(err)
	}
	s.pass(recentFor - 1)
	flood()
	if _, err := s.ask(t, "vault", typed("secret")); err != nil {
		t.Errorf("a network that sent the right password: %v", err)
	}
	for range MaxPasswords {
		if _, err := s.ask(t, "vault", typed("wrong")); code(err) != apierr.Forbidden {
			t.Error(err)
		}
	}
	if _, err := s.ask(t, "vault", typed("secret")); code(err) != apierr.RateLimited {
		t.Errorf("after its own wrong ones: %v", err)
	}
	s.pass(recentFor)
	flood()
	if _, err := s.ask(t, "vault", typed("secret")); code(err) != apierr.RateLimited {
		t.Errorf("a network that sent it long ago: %v", err)
	}
	s.pass(Window)
	if _, err := s.ask(t, "vault", typed("secret")); err != nil {
		t.Error(err)
	}
	l := guarded()
	l.PasswordHash = "#another"
	s.put(l)
	flood()
	if _, err := s.ask(t, "vault", typed("another")); code(err) != apierr.RateLimited {
		t.Errorf("a network that sent the password before: %v", err)
	}
}
