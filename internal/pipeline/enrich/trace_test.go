package enrich

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestAStackKeepsItsPlacesAndNoQuery(t *testing.T) {
	t.Parallel()
	rules := Compile(nil, []string{"/users/*/**"}, []string{"ref"})
	for _, tc := range [][2]string{
		{"", ""},
		{"no address: nothing ?x=1", "no address: nothing ?x=1"},
		// Chromium
		{
			"TypeError: x\n    at pay (https://shop.example/users/42/pay?token=s3cret#top:10:5)\n    at " +
				"https://shop.example/app.js?v=1:2:3",
			"TypeError: x\n    at pay (https://shop.example/users/*/*:10:5)\n    at https://shop.example/app.js:2:3",
		},
		{
			"at eval (eval at f (https://shop.example/a.js?q=1:10:5), <anonymous>:1:1)",
			"at eval (eval at f (https://shop.example/a.js:10:5), <anonymous>:1:1)",
		},
		{"at g (https://shop.example/(group)/page.js?q=(1):1:2)", "at g (https://shop.example/(group)/page.js:1:2)"},
		// Firefox and Safari
		{
			"pay@https://user:pass@shop.example:8443/users/42?token=s3cret:10:5\n@https://x.example/?a=b:1",
			"pay@https://shop.example:8443/users/*:10:5\n@https://x.example/:1",
		},
		{"f@https://shop.example/a.js?x line 5 > eval:1:2", "f@https://shop.example/a.js line 5 > eval:1:2"},
		// Others
		{"webpack-internal:///./src/a.js?0a1b:3:4", "webpack-internal:///./src/a.js:3:4"},
		{"https://shop.example:8443", "https://shop.example:8443"},
		{"https://shop.example/a//b/./c.js:1:2", "https://shop.example/a//b/./c.js:1:2"},
		{"://nothing https://x.example/?a", "://nothing https://x.example/"},
		{"1://x?y HTTPS://X.example/users/7#y", "1://x?y HTTPS://X.example/users/*"},
	} {
		if got := string(rules.AppendTrace([]byte("="), []byte(tc[0]))); got != "="+tc[1] {
			t.Errorf("%q becomes %q, want %q", tc[0], got[1:], tc[1])
		}
	}
	for address, want := range map[string]string{
		"/users/1/a.js?token=s3cret":           "/users/1/a.js",
		"https://shop.example/users/1?token=x": "https://shop.example/users/*",
		"app.js#x":                             "app.js",
	} {
		if got := string(rules.AppendScript(nil, []byte(address))); got != want {
			t.Errorf("the script %q becomes %q, want %q", address, got, want)
		}
	}
	var none *Rules
	if got := string(none.AppendTrace(nil,
		[]byte("at https://shop.example/users/1?q:1:2"))); got != "at https://shop.example/users/1:1:2" {
		t.Errorf("without rules: %q", got)
	}
}

func TestAStackOfAnyTextIsNoLongerAfterwards(t *testing.T) {
	t.Parallel()
	rules := Compile(nil, []string{"/*/é*"}, nil)
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom(
			[]string{"https", "://", "é", "/", "?", "#", ":1", " ", "(", ")", "\n", "@", "%zz", "a.b"})).Draw(t, "parts")
		text := strings.Join(parts, "")
		got := rules.AppendTrace(nil, []byte(text))
		if len(got) > len(text) || !utf8.Valid(got) {
			t.Fatalf("%q becomes %q", text, got)
		}
		if again := rules.AppendTrace(nil, got); !bytes.Equal(again, got) && len(got) < len(text) {
			t.Fatalf("%q becomes %q, and that %q", text, got, again)
		}
	})
}
