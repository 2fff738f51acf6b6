package config

import (
	"net/netip"
	"strings"
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

func TestQueryURL_IsEmptyWhenOnlyIngestHasAPublicURL(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ ingest, query, want string }{
		{"", "", "http://127.0.0.1:8080"},
		{"", "https://api.example.com", "https://api.example.com"},
		{"https://in.example.com", "https://api.example.com", "https://api.example.com"},
		{"https://in.example.com", "", ""},
	} {
		s := Default()
		s.Ingest.PublicURL, s.Query.PublicURL = tc.ingest, tc.query
		if got := s.QueryURL(); got != tc.want {
			t.Errorf("%+v: QueryURL() = %q", tc, got)
		}
	}
}

func TestContactURI_MakesAnAddressAMailtoURI(t *testing.T) {
	t.Parallel()
	for contact, want := range map[string]string{
		"": "", "security@example.com": "mailto:security@example.com", "https://example.com/r": "https://example.com/r",
		"mailto:a@b.example": "mailto:a@b.example", "tel:+1-201-555-0123": "tel:+1-201-555-0123",
	} {
		if got := (Security{Contact: contact}).ContactURI(); got != want {
			t.Errorf("ContactURI() of %q = %q, want %q", contact, got, want)
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

// A host that other machines reach must be told by which address: its cookies, mails and
// snippets name it, and a request's own headers say whatever its caller likes.
func TestAListenerOffLoopbackNeedsThePublicAddresses(t *testing.T) {
	t.Parallel()
	both := []string{"ingest.listen", "query.listen"}
	for _, tc := range []struct {
		name    string
		environ []string
		serves  []string
		want    []string // the settings that are missing
	}{
		{"on loopback", nil, both, nil},
		{
			"by the name of loopback",
			[]string{"MILLRACE_QUERY_LISTEN=localhost:8080", "MILLRACE_INGEST_LISTEN=[::1]:8081"},
			both, nil,
		},
		{
			"everywhere",
			[]string{"MILLRACE_QUERY_LISTEN=:8080", "MILLRACE_INGEST_LISTEN=0.0.0.0:8081"},
			both,
			[]string{"ingest.public_url", "query.public_url"},
		},
		{
			"at one address",
			[]string{"MILLRACE_QUERY_LISTEN=192.0.2.1:8080"},
			both,
			[]string{"query.public_url", "ingest.public_url"},
		},
		{"the ingestion host", []string{"MILLRACE_INGEST_LISTEN=[::]:8081"}, both[:1], []string{"ingest.public_url"}},
		{
			"the query host",
			[]string{"MILLRACE_QUERY_LISTEN=[::]:8080", "MILLRACE_INGEST_PUBLIC_URL=https://in.example"},
			both[1:],
			[]string{"query.public_url"},
		},
		{
			"short links",
			[]string{"MILLRACE_LINK_LISTEN=:8082", "MILLRACE_INGEST_LISTEN="},
			[]string{"ingest.listen", "link.listen"},
			[]string{"link.public_url"},
		},
		{
			"short links with theirs",
			[]string{"MILLRACE_LINK_LISTEN=:8082", "MILLRACE_LINK_PUBLIC_URL=https://go.example"},
			[]string{"ingest.listen", "link.listen"},
			nil,
		},
		{"with both", []string{
			"MILLRACE_QUERY_LISTEN=:8080", "MILLRACE_INGEST_LISTEN=:8081",
			"MILLRACE_QUERY_PUBLIC_URL=https://api.example", "MILLRACE_INGEST_PUBLIC_URL=https://in.example",
		}, both, nil},
		{"who opens no listener", []string{"MILLRACE_QUERY_LISTEN=:8080", "MILLRACE_INGEST_LISTEN=:8081"}, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := Load(Options{Args: []string{}, Environ: append([]string{}, tc.environ...), Serves: tc.serves})
			var got []string
			for _, p := range problemsOf(err) {
				key, says, _ := strings.Cut(p, ": must be set with MILLRACE_")
				if got = append(got, key); !strings.Contains(says, "is reachable from other machines") {
					t.Errorf("%s does not say why", p)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("missing settings (-want +got):\n%s", diff)
			}
		})
	}
}
