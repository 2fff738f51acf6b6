package config

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBaseURLIsThePublicOneOrTheListener(t *testing.T) {
	t.Parallel()
	s := Default()
	s.Ingest.Listen, s.Ingest.PublicURL = ":8081", "https://in.example.com"
	for got, want := range map[string]string{
		s.Query.BaseURL():  "http://127.0.0.1:8080",
		s.Ingest.BaseURL(): "https://in.example.com",
		s.Link.BaseURL():   "",
		Link{PublicURL: "https://go.example.com"}.BaseURL(): "https://go.example.com",
		Link{Listen: "[::1]:8082"}.BaseURL():                "http://[::1]:8082",
	} {
		if got != want {
			t.Errorf("BaseURL() = %q, want %q", got, want)
		}
	}
}

func TestAListenerIsReachedOverItsOwnAddressOrTheLoopback(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080",
		":8080":          "http://127.0.0.1:8080",
		"0.0.0.0:8080":   "http://127.0.0.1:8080",
		"[::]:8080":      "http://127.0.0.1:8080",
		"[::1]:8080":     "http://[::1]:8080",
		"host.name:8080": "http://host.name:8080",
		"unix.sock":      "http://unix.sock",
	} {
		if got := ListenURL(listen); got != want {
			t.Errorf("ListenURL(%q) = %q, want %q", listen, got, want)
		}
	}
}

func TestTrustedProxiesAreRanges(t *testing.T) {
	t.Parallel()
	p := Proxy{Trusted: []string{"10.1.2.3/8", "192.0.2.1", "2001:db8::/32", "::1", "nonsense"}}
	want := []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.1/32"),
		netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("::1/128"),
	}
	if diff := cmp.Diff(want, p.Networks(), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("Networks() (-want +got):\n%s", diff)
	}
}
