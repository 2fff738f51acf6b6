package enrich

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPatternsMatchWholePaths(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern, path string
		want          bool
	}{
		{"/", "/", true},
		{"/", "/a", false},
		{"/admin", "/admin", true},
		{"/admin", "/admin/users", false},
		{"/admin", "/Admin", false},
		{"/admin/", "/admin", true},
		{"/admin/*", "/admin", false},
		{"/admin/*", "/admin/users", true},
		{"/admin/*", "/admin/users/1", false},
		{"/admin/**", "/admin", true},
		{"/admin/**", "/admin/users/1", true},
		{"/admin/**", "/administration", false},
		{"/**", "/", true},
		{"/**", "/a/b", true},
		{"/*", "/", false},
		{"/**/edit", "/edit", true},
		{"/**/edit", "/a/b/edit", true},
		{"/**/edit", "/a/b/edit/c", false},
		{"/a/**/b/*/c", "/a/b/b/x/c", true},
		{"/a/**/**/b", "/a/b", true},
		{"/blog*", "/blog-2026", true},
		{"/blog*", "/blog", true},
		{"/blog*", "/blog/a", false},
		{"/files/*.pdf", "/files/a.pdf", true},
		{"/files/*.pdf", "/files/a.pdf.exe", false},
		{"/files/a*b*c", "/files/abxbc", true},
		{"/files/ab*ba", "/files/aba", false},
		{"/café/*", "/caf%C3%A9/1", true},
		{"/caf%c3%a9/*", "/caf%C3%A9/1", true},
		{"/search", "/search?q=1", true},
		{"/app", "/app#/users", true},
		{"/users/*", "/app#/users/1", true},
		{"/users/*", "/app#!/users/1", true},
		{"admin", "/admin", false},
		{"/a?b", "/a", false},
		{"/screen", "screen", false},
		{strings.Repeat("/a", MaxSegments), strings.Repeat("/a", MaxSegments), true},
		{strings.Repeat("/*", MaxSegments-1) + "/**", strings.Repeat("/a", MaxSegments), true},
		{strings.Repeat("/a", MaxSegments+1), strings.Repeat("/a", MaxSegments), false},
	} {
		if got := Compile([]string{tc.pattern}, nil, nil).Excluded([]byte(tc.path)); got != tc.want {
			t.Errorf("%s fits %s: %t, want %t", tc.pattern, tc.path, got, tc.want)
		}
	}
}

func TestSegmentsUnderAStarAreMasked(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ patterns, path, want string }{
		{"/users/*", "/users/42", "/users/*"},
		{"/users/*", "/users/42/orders", "/users/42/orders"},
		{"/users/*/orders", "/users/42/orders", "/users/*/orders"},
		{"/users/**", "/users/42/orders/7", "/users/*/*/*"},
		{"/users/**", "/users", "/users"},
		{"/users/**/edit", "/users/1/2/edit", "/users/*/*/edit"},
		{"/**/edit/**", "/a/edit/b", "/*/edit/*"},
		{"/invite-*", "/invite-abc", "/*"},
		{"/users/*", "/users/42?tab=1", "/users/*?tab=1"},
		{"/users/*", "/app#/users/42", "/app#/users/*"},
		{"/users/*", "/app?tab=1#!/users/42", "/app?tab=1#!/users/*"},
		{"/users/*", "/users/42#/users/43", "/users/*#/users/*"},
		{"/a/*/c /a/b/*", "/a/b/c", "/a/*/*"},
		{"/users", "/users", "/users"},
		{"/users/*", "/other", "/other"},
		{"/*", "Screen", "Screen"},
		{"", "/users/42", "/users/42"},
	} {
		rules := Compile(nil, strings.Fields(tc.patterns), nil)
		if got := string(rules.Mask(nil, []byte(tc.path))); got != tc.want {
			t.Errorf("%s masks %s as %s, want %s", tc.patterns, tc.path, got, tc.want)
		}
	}
}

func TestNoRulesChangeNothing(t *testing.T) {
	t.Parallel()
	var r *Rules
	if r.Excluded([]byte("/a")) || string(r.Mask(nil, []byte("/a"))) != "/a" {
		t.Error("no rules are rules")
	}
}

// TestPatternsAreWhatExpressionsAre compares the machine with a regular
// expression of the same meaning.
func TestPatternsAreWhatExpressionsAre(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "*", "**", "a*", "*b"}), 1, 8).Draw(t, "pattern")
		segments := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "c"}), 1, 10).Draw(t, "path")
		var expression strings.Builder
		for _, p := range parts {
			if p == "**" {
				expression.WriteString("(/[^/]+)*")
			} else {
				expression.WriteString("/" + strings.ReplaceAll(p, "*", "[^/]*"))
			}
		}
		pattern, path := "/"+strings.Join(parts, "/"), "/"+strings.Join(segments, "/")
		want := regexp.MustCompile("^" + expression.String() + "$").MatchString(path)
		rules := Compile([]string{pattern}, []string{pattern}, nil)
		if got := rules.Excluded([]byte(path)); got != want {
			t.Fatalf("%s fits %s: %t, want %t", pattern, path, got, want)
		}
		masked := string(rules.Mask(nil, []byte(path)))
		if !want && masked != path || strings.Count(masked, "/") != len(segments) {
			t.Fatalf("%s masks %s as %s", pattern, path, masked)
		}
		if again := string(rules.Mask(nil, []byte(masked))); again != masked && !strings.ContainsAny(pattern, "ab") {
			t.Fatalf("%s masks %s as %s, and that as %s", pattern, path, masked, again)
		}
	})
}

// BenchmarkHostileRules is the worst that settings and a visitor can do together.
func BenchmarkHostileRules(b *testing.B) {
	var patterns []string
	for i := range 100 {
		patterns = append(patterns, fmt.Sprintf("/%s%d", strings.Repeat("**/a/", 31), i))
	}
	rules := Compile(patterns, nil, nil)
	path := []byte(strings.Repeat("/a", MaxSegments))
	b.ReportAllocs()
	for b.Loop() {
		if rules.Excluded(path) {
			b.Fatal("it matches")
		}
	}
}

func BenchmarkRules(b *testing.B) {
	rules := Compile([]string{"/admin/**", "/preview/*", "/**/draft"}, []string{"/users/*/**", "/orders/*"}, nil)
	path, dst := []byte("/users/42/orders"), make([]byte, 0, 100)
	b.ReportAllocs()
	for b.Loop() {
		rules.Excluded(path)
		dst = rules.Mask(dst[:0], path)
	}
}
