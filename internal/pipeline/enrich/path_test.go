package enrich

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// pageOf returns host and path of an address without rules.
func pageOf(text string) (host, path string) {
	a := split([]byte(text))
	return string(appendHost(nil, a.host)), string(appendPage(nil, &a, nil))
}

func TestAddressesHaveOneForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"https://example.com":                        {"example.com", "/"},
		"https://example.com/":                       {"example.com", "/"},
		"HTTPS://WWW.Example.COM/Pricing":            {"example.com", "/Pricing"},
		"https://example.com:443/a":                  {"example.com", "/a"},
		"http://example.com:80/a":                    {"example.com", "/a"},
		"http://localhost:3000/a":                    {"localhost:3000", "/a"},
		"https://example.com./a":                     {"example.com", "/a"},
		"https://www.com/a":                          {"www.com", "/a"},
		"https://www.www.example.com/a":              {"example.com", "/a"},
		"https://bücher.example/a":                   {"xn--bcher-kva.example", "/a"},
		"https://B%C3%9Ccher.example/a":              {"xn--bcher-kva.example", "/a"},
		"https://user:secret@example.com/a":          {"example.com", "/a"},
		"https://a@b@example.com/a":                  {"example.com", "/a"},
		"https://192.0.2.1:8080/a":                   {"192.0.2.1:8080", "/a"},
		"https://[2001:DB8::1]:443/a":                {"[2001:db8::1]", "/a"},
		"https://[::1/a":                             {"", "/a"},
		"https://exa mple.com/a":                     {"", "/a"},
		"https://example.com:port/a":                 {"", "/a"},
		"https://" + strings.Repeat("a", 254) + "/a": {"", "/a"},
		"//example.com/a":                            {"example.com", "/a"},
		"file:///C:/a.html":                          {"", "/C:/a.html"},
		"app://shop.example/a":                       {"shop.example", "/a"},
		"/a/b/":                                      {"", "/a/b"},
		"//":                                         {"", ""},
		"/a//b///c":                                  {"", "/a/b/c"},
		"/a/./b/../c":                                {"", "/a/c"},
		"/../../a":                                   {"", "/a"},
		"/a/%2e%2E/b":                                {"", "/b"},
		"/%7Euser/%41":                               {"", "/~user/A"},
		"/caf%c3%a9":                                 {"", "/caf%C3%A9"},
		"/café":                                      {"", "/caf%C3%A9"},
		"/a%2Fb":                                     {"", "/a%2Fb"},
		"/100%":                                      {"", "/100%25"},
		"/%zz":                                       {"", "/%25zz"},
		"/a b":                                       {"", "/a%20b"},
		"/a?utm_source=x&b=1":                        {"", "/a"},
		"/a#part":                                    {"", "/a"},
		"/a#/users/1/":                               {"", "/a#/users/1"},
		"/a#!/users/1?tab=2":                         {"", "/a#!/users/1"},
		"/a#/":                                       {"", "/a"},
		"/a#//":                                      {"", "/a"},
		"?a=1":                                       {"", ""},
		"#/users":                                    {"", "/#/users"},
		"":                                           {"", ""},
		"  /a  ":                                     {"", "/a"},
		"Checkout":                                   {"", "Checkout"},
		"Checkout?token=1":                           {"", "Checkout"},
		"about:blank":                                {"", "about:blank"},
	} {
		if host, path := pageOf(text); host != want[0] || path != want[1] {
			t.Errorf("%q is %q, %q, want %q, %q", text, host, path, want[0], want[1])
		}
	}
}

func TestALongPathIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	segments := func(n int) string { return strings.Repeat("/a", n) }
	fits := "/" + strings.Repeat("a", MaxPathLen-1)
	for name, tc := range map[string]struct{ text, want string }{
		"at the limit":                 {fits, fits},
		"one beyond":                   {fits + "b", fits},
		"within an escape":             {fits[:MaxPathLen-2] + "%20b", fits[:MaxPathLen-2]},
		"within a character":           {fits[:MaxPathLen-4] + "%C3%A9b", fits[:MaxPathLen-4]},
		"behind a slash":               {fits[:MaxPathLen-1] + "/b", fits[:MaxPathLen-1]},
		"behind what looks like a dot": {fits[:MaxPathLen-2] + "/.b", fits[:MaxPathLen-2]},
		"at the limit of segments":     {segments(MaxSegments), segments(MaxSegments)},
		"a segment beyond":             {segments(MaxSegments + 1), segments(MaxSegments)},
		"a segment beyond and back":    {segments(MaxSegments+1) + "/..", segments(MaxSegments)},
		"back and at the limit":        {"/b/.." + segments(MaxSegments), segments(MaxSegments)},
		"a route that does not fit":    {fits + "#/users", fits},
		"a route that fits in part":    {fits[:MaxPathLen-4] + "#/users", fits[:MaxPathLen-4] + "#/us"},
	} {
		if _, got := pageOf(tc.text); got != tc.want {
			t.Errorf("%s: %d bytes, want %d: …%s", name, len(got), len(tc.want), got[max(0, len(got)-20):])
		}
	}
}

// FuzzPage holds what is promised of every address: bounds, printable ASCII where
// there is a host or a slash, and that a form is its own.
func FuzzPage(f *testing.F) {
	for _, text := range []string{"https://u:p@www.exämple.com:8080/a/../%41?b=+1&tab=2#/c?d", "/a#!/b", "//x", "x?y", "[::1]", "/%E3%81", "/a/%2e"} {
		f.Add([]byte(text))
	}
	rules := Compile([]string{"/a/**"}, []string{"/*/b/**", "/**/c*d"}, []string{"tab", "b"})
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		a := split(text)
		host := appendHost(nil, a.host)
		path := appendPage(nil, &a, rules)
		masked := rules.Mask(nil, path)
		switch {
		case !bytes.Equal(before, text):
			t.Fatal("the text was changed")
		case len(host) > MaxHostLen || len(path) > MaxPathLen || len(masked) > MaxPathLen:
			t.Fatalf("%d, %d and %d bytes", len(host), len(path), len(masked))
		case len(path) > 0 && path[0] == '/' && !isPrintable(path):
			t.Fatalf("%q", path)
		}
		again := split(append(append([]byte("https://"), host...), path...))
		if len(host) > 0 && len(path) > 0 && path[0] == '/' {
			if got := appendHost(nil, again.host); !bytes.Equal(got, host) {
				t.Fatalf("host %q becomes %q", host, got)
			}
			if got := appendPage(nil, &again, rules); !bytes.Equal(got, path) {
				t.Fatalf("path %q becomes %q", path, got)
			}
		}
		if got := rules.Mask(nil, masked); !bytes.Equal(got, masked) {
			t.Fatalf("%q masked is %q, and masked again %q", path, masked, got)
		}
	})
}

func isPrintable(text []byte) bool {
	for _, c := range text {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}

func TestOneFormForWhatMeansTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		segments := rapid.SliceOfN(rapid.StringMatching(`[a-z~._-]{0,3}[a-zA-Z0-9é ]`), 1, 5).Draw(t, "segments")
		plain := "/" + strings.Join(segments, "/")
		var noisy strings.Builder
		for _, s := range segments {
			noisy.WriteString(rapid.SampledFrom([]string{"/", "//", "/./", "/x/../"}).Draw(t, "slash"))
			for i := range len(s) {
				if rapid.Bool().Draw(t, "escaped") || s[i] >= utf8.RuneSelf {
					noisy.WriteString("%" + string(hexDigits[s[i]>>4]) + strings.ToLower(string(hexDigits[s[i]&15])))
				} else {
					noisy.WriteByte(s[i])
				}
			}
		}
		noisy.WriteString(rapid.SampledFrom([]string{"", "/", "/."}).Draw(t, "end"))
		want, _ := appendPath(nil, []byte(plain), MaxPathLen)
		if got, _ := appendPath(nil, []byte(noisy.String()), MaxPathLen); !bytes.Equal(got, want) {
			t.Fatalf("%q is %q, want %q as %q", noisy.String(), got, want, plain)
		}
	})
}
