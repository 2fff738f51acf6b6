package redirect

import (
	"net/url"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/resource/link"
)

func TestParametersAreAddedToATarget(t *testing.T) {
	t.Parallel()
	utm := link.UTM{Source: "news letter", Campaign: "a&b=ü"}
	for _, tc := range []struct {
		name, target string
		utm          link.UTM
		query, want  string
	}{
		{"nothing", "https://a.example/x?y#z", link.UTM{}, "", "https://a.example/x?y#z"},
		{"a query", "https://a.example/x", link.UTM{}, "a=1&b=2", "https://a.example/x?a=1&b=2"},
		{"a query to one", "https://a.example/x?c=3", link.UTM{}, "a=1", "https://a.example/x?c=3&a=1"},
		{"before the fragment", "https://a.example/x?c#f?g", link.UTM{}, "a=1", "https://a.example/x?c&a=1#f?g"},
		{"to an address without a path", "https://a.example", link.UTM{}, "a=1", "https://a.example?a=1"},
		{"to an empty query", "https://a.example/?", link.UTM{}, "a=1", "https://a.example/?a=1"},
		{"behind a separator", "https://a.example/?b&", link.UTM{}, "a=1", "https://a.example/?b&a=1"},
		{"utm", "https://a.example/", utm, "", "https://a.example/?utm_source=news%20letter&utm_campaign=a%26b%3D%C3%BC"},
		{
			"utm before what is handed on", "https://a.example/",
			link.UTM{Term: "t"},
			"utm_term=x&a=1", "https://a.example/?utm_term=t&a=1",
		},
		{
			"the target's own before utm", "https://a.example/?utm_term=own",
			link.UTM{Term: "t"},
			"utm_term=x", "https://a.example/?utm_term=own",
		},
		{
			"the target's own stay, repeated", "https://a.example/?a=1&a=2&qr=7",
			link.UTM{},
			"a=3&b=4&b=5", "https://a.example/?a=1&a=2&qr=7&b=4&b=5",
		},
		{
			"whatever way a name is written", "https://a.example/?a%62=1",
			link.UTM{Source: "s"},
			"ab=2&%61b=3&utm%5Fsource=4", "https://a.example/?a%62=1&utm_source=s",
		},
		{"other cases are other names", "https://a.example/?a=1", link.UTM{}, "A=2", "https://a.example/?a=1&A=2"},
		{"never qr", "https://a.example/", link.UTM{}, "qr=1&q%72=1&a=1&qr", "https://a.example/?a=1"},
		{"only qr", "https://a.example/", link.UTM{}, "qr=1", "https://a.example/"},
		{"nothing between separators", "https://a.example/", link.UTM{}, "&&a&&", "https://a.example/?a"},
		{
			"what may not stand in a query", "https://a.example/",
			link.UTM{},
			"a=\"<\\>#\x00\xff %zz", "https://a.example/?a=%22%3C%5C%3E%23%00%FF%20%zz",
		},
		{
			"a scheme that is not the web's", "mailto:x@a.example?subject=s",
			link.UTM{},
			"body=b", "mailto:x@a.example?subject=s&body=b",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := string(appendLocation(nil, tc.target, &tc.utm, []byte(tc.query))); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestALocationHasABound(t *testing.T) {
	t.Parallel()
	const target = "https://a.example/"
	long := func(n int) string { return "a=" + strings.Repeat("x", n-len("a=")) }
	exactly := MaxLocation - len(target) - len("?")
	utm := link.UTM{Source: strings.Repeat("s", 100)}
	for _, tc := range []struct {
		name  string
		utm   link.UTM
		query string
		want  int
	}{
		{"at it", link.UTM{}, long(exactly), MaxLocation},
		{"one beyond: nothing is handed on", link.UTM{}, long(exactly + 1), len(target)},
		{"one beyond with utm, which stays", utm, long(exactly), len(target + "?utm_source=" + utm.Source)},
		{"a query beyond it", link.UTM{}, long(MaxLocation + 1), len(target)},
		{"utm beyond it", link.UTM{Source: strings.Repeat("s", MaxLocation)}, "", len(target)},
	} {
		if got := appendLocation(nil, target, &tc.utm, []byte(tc.query)); len(got) != tc.want {
			t.Errorf("%s: %d bytes, want %d", tc.name, len(got), tc.want)
		}
	}
}

// corpus are queries with which somebody wants a visitor to end up elsewhere.
var corpus = []string{
	"@evil.example", "/@evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example", ":@evil.example",
	".evil.example", "%2F%2Fevil.example",
	"url=https://evil.example", "next=//evil.example", "https://evil.example", "#@evil.example", "#//evil.example",
	"a=%0d%0aLocation:%20https://evil.example", "a=\r\nLocation: https://evil.example", "\r\n\r\n<script>",
	"\t//evil.example", "%09//evil.example", "?//evil.example", "a=1#https://evil.example", ";@evil.example",
	"%23@evil.example", "%3f@evil.example", "&@evil.example", "=@evil.example", "javascript:alert(1)",
	"a=javascript:alert(1)", "\x00@evil.example", "ﾠ@evil.example",
	"。evil.example", "%E3%80%82evil.example", "%5c%5cevil.example", "..//evil.example", "/../..//evil.example",
}

// targets are addresses whose end invites that.
var endings = []string{
	"https://good.example", "https://good.example/", "https://good.example/a?b=1", "https://good.example/a#f",
	"https://good.example:8443?#", "http://[2001:db8::1]/p;x",
}

func TestNoQueryLeavesTheTarget(t *testing.T) {
	t.Parallel()
	for _, target := range endings {
		for _, query := range corpus {
			got := string(appendLocation(nil, target, &link.UTM{Source: query}, []byte(query)))
			checkLocation(t, target, got)
			is, err := url.Parse(got)
			want, wantErr := url.Parse(target)
			if err != nil || wantErr != nil {
				t.Fatalf("%s: %v, %v", got, err, wantErr)
			}
			if is.Scheme != want.Scheme || is.Host != want.Host || is.Path != want.Path ||
				is.Fragment != want.Fragment || is.User != nil {
				t.Errorf("%q to %s leads to %s", query, target, got)
			}
		}
	}
}

// checkLocation checks that a location is its target with more in the query, byte by byte.
func checkLocation(t *testing.T, target, got string) {
	t.Helper()
	want, is := parseLocation(target), parseLocation(got)
	if is.base != want.base || is.fragment != want.fragment || !strings.HasPrefix(is.query, want.query) {
		t.Errorf("the location of %q is %q", target, got)
	}
	added := strings.TrimPrefix(is.query, want.query)
	for i := range len(added) {
		if c := added[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}#", c) >= 0 {
			t.Errorf("%q was added to %q", added, target)
		}
	}
	if len(got) > max(MaxLocation, len(target)) {
		t.Errorf("%d bytes", len(got))
	}
}

func FuzzLocation(f *testing.F) {
	for i, query := range corpus {
		f.Add(endings[i%len(endings)], query, query)
	}
	f.Fuzz(func(t *testing.T, target, source, query string) {
		checkLocation(t, target, string(appendLocation(nil, target, &link.UTM{Source: source}, []byte(query))))
	})
}
