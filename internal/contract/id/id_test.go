package id

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestNewIsValidAndNeverTwiceTheSame(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		s := New("web")
		if !Valid("web", s) {
			t.Fatalf("Valid(%q) = false", s)
		}
		if seen[s] {
			t.Fatalf("New() returned %q twice", s)
		}
		seen[s] = true
	}
}

func TestIDsOfLaterMillisecondsSortLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := New("org")
		time.Sleep(time.Millisecond) //nolint:forbidigo // the clock of synctest
		if second := New("org"); second <= first {
			t.Errorf("%q does not sort after %q", second, first)
		}
	})
}

func TestValidRejectsOtherSpellings(t *testing.T) {
	t.Parallel()
	good := New("web")
	for name, s := range map[string]string{
		"empty":            "",
		"prefix only":      "web_",
		"other prefix":     "org" + strings.TrimPrefix(good, "web"),
		"no underscore":    strings.Replace(good, "_", "", 1),
		"lower case":       "web_" + strings.ToLower(strings.TrimPrefix(good, "web_")),
		"too short":        good[:len(good)-1],
		"too long":         good + "0",
		"a letter unused":  good[:len(good)-1] + "U",
		"beyond 128 bits":  "web_8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
		"space in front":   " " + good,
		"newline at end":   good + "\n",
		"a second prefix":  "web_" + good,
		"zero bytes":       "web_" + strings.Repeat("\x00", 26),
		"ambiguous letter": "web_0000000000000000000000000O",
	} {
		if Valid("web", s) {
			t.Errorf("%s: Valid(%q) = true", name, s)
		}
	}
}
