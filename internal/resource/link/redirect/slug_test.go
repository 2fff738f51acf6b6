package redirect

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/resource/link"
)

func TestSlugsAreReadFromPathsOfTheSharedHost(t *testing.T) {
	t.Parallel()
	at, beyond := strings.Repeat("a", link.MaxSlugLen), strings.Repeat("a", link.MaxSlugLen+1)
	for path, want := range map[string]string{
		"/abc": "abc", "/ab": "", "/A-b_9": "A-b_9", "/" + at: at, "/" + beyond: "", "/%61%62%63": "abc", "/%4a%4Aj": "JJj",
		"/%2561bc": "", "/ab%2f": "", "/abc%": "", "/abc%6": "", "/abc%zz": "", "/abc%6z": "", "/abc%00": "", "/ab%C3%A4": "",
		"/a.bc": "",
		"/abc/": "", "//abc": "", "": "", "abc": "", "/a b": "", "/": "",
	} {
		if got, ok := appendSlug(nil, []byte(path)); ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s is %q, %v; want %q", path, got, ok, want)
		}
	}
}

func TestSlugsAreReadFromPathsOfADomain(t *testing.T) {
	t.Parallel()
	at := strings.Repeat("ü", link.MaxOwnSlugLen/2)
	apart := strings.Repeat("u\u0308", link.MaxOwnSlugLen/2) // three bytes for two
	escaped := strings.Repeat("%75%CC%88", link.MaxOwnSlugLen/2)
	deep := strings.Repeat("a/", link.MaxOwnSlugParts-1) + "a"
	for path, want := range map[string]string{
		"/a": "a", "/": "", "": "", "a": "", "/Sale.2026/~x_-": "Sale.2026/~x_-", "/%C3%9Cber": "Über", "/U\u0308ber": "Über",
		"/%55%CC%88ber": "Über", "/东京/駅": "东京/駅", "/٣": "٣",
		"/" + at: at, "/" + apart: at, "/" + escaped: at, "/" + at + "a": "", "/" + escaped + "a": "",
		"/" + strings.Repeat("%C3%BC", 3*link.MaxOwnSlugLen): "",
		"/" + deep: deep, "/" + deep + "/a": "", "/a%2Fb": "a/b", "/a/": "", "//a": "", "/a//b": "",
		"/.": "", "/..": "", "/a/../b": "", "/a/%2e%2E/b": "", "/a/...": "a/...", "/_a": "", "/%5Fa": "", "/a/_b": "a/_b",
		"/a%2561": "", "/a%": "", "/a%6": "", "/a%zz": "", "/a%00": "", "/a%ff": "", "/a+b": "", "/a b": "", "/a%20b": "",
		"/a:b": "", "/a;b": "", "/a\\b": "", "/😀": "",
		"/robots.txt": "", "/favicon.ico": "", "/.well-known/security.txt": "",
	} {
		if got, ok := appendOwnSlug(nil, []byte(path)); ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s is %q, %v; want %q", path, got, ok, want)
		}
	}
}

func TestAKeyIsTheOneThatLinksHave(t *testing.T) {
	t.Parallel()
	own := link.ServedDomain{ID: "dom_1"}
	exact := link.ServedDomain{ID: "dom_2", CaseSensitive: true}
	for _, tc := range []struct {
		domain     *link.ServedDomain
		slug, want string
	}{
		{nil, "Sale-26", link.KeyOn("", false, "Sale-26")},
		{&own, "Été/Sale", "dom_1/été/sale"},
		{&exact, "Été/Sale", "dom_2/Été/Sale"},
	} {
		if got := appendKey(nil, tc.domain, []byte(tc.slug)); string(got) != tc.want {
			t.Errorf("%s has key %s, want %s", tc.slug, got, tc.want)
		}
	}
}

func TestHostsAreReadFromTheirHeader(t *testing.T) {
	t.Parallel()
	at := strings.Repeat("a", maxHost)
	for header, want := range map[string]string{
		"go.example": "go.example", "Go.EXAMPLE": "go.example", "go.example.": "go.example", "go.example:8082": "go.example",
		"go.example.:80":     "go.example",
		"[2001:DB8::1]:8082": "2001:db8::1", "[2001:db8::1]": "2001:db8::1", "192.0.2.1:80": "192.0.2.1", "": "", ":80": "",
		at + ".:65535": at, at + "a": "",
	} {
		if got := appendHost(nil, []byte(header)); string(got) != want {
			t.Errorf("%s is %q, want %q", header, got, want)
		}
	}
}
