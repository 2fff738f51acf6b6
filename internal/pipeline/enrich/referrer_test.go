package enrich

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReferrersAreKnownByTheirHost(t *testing.T) {
	t.Parallel()
	type source struct {
		Kind            Kind
		Name, Host, URL string
	}
	for ref, want := range map[string]source{
		"":                                    {Kind: Direct},
		"direct":                              {Kind: Direct},
		"about:blank":                         {Kind: Direct},
		"google.com":                          {Kind: Direct},
		"https://":                            {Kind: Direct},
		"ftp://example.org/a":                 {Kind: Direct},
		"https://example.com/a/b?c=d":         {Internal, "", "example.com", "https://example.com/a/b"},
		"https://www.example.com/":            {Internal, "", "example.com", "https://example.com/"},
		"https://shop.example.com:8443/cart/": {Internal, "", "shop.example.com:8443", "https://shop.example.com:8443/cart"},
		"https://notexample.com/":             {Other, "", "notexample.com", "https://notexample.com/"},
		"https://www.google.com/search?q=x":   {Search, "Google", "google.com", "https://google.com/search"},
		"https://www.google.co.uk/":           {Search, "Google", "google.co.uk", "https://google.co.uk/"},
		"https://google.com.evil.example/":    {Other, "", "google.com.evil.example", "https://google.com.evil.example/"},
		"https://google.evil/":                {Other, "", "google.evil", "https://google.evil/"},
		"https://mygoogle.com/":               {Other, "", "mygoogle.com", "https://mygoogle.com/"},
		"https://mail.google.com/mail/u/0/":   {Email, "Gmail", "mail.google.com", "https://mail.google.com/mail/u/0"},
		"https://gemini.google.com/app":       {AI, "Gemini", "gemini.google.com", "https://gemini.google.com/app"},
		"https://accounts.google.com/": {
			Other, "Google Accounts", "accounts.google.com", "https://accounts.google.com/",
		},
		"https://chatgpt.com/":               {AI, "ChatGPT", "chatgpt.com", "https://chatgpt.com/"},
		"https://www.perplexity.ai/search/x": {AI, "Perplexity", "perplexity.ai", "https://perplexity.ai/search/x"},
		"https://copilot.microsoft.com/":     {AI, "Copilot", "copilot.microsoft.com", "https://copilot.microsoft.com/"},
		"https://t.co/abc":                   {Social, "X", "t.co", "https://t.co/abc"},
		"https://l.facebook.com/l.php?u=x":   {Social, "Facebook", "l.facebook.com", "https://l.facebook.com/l.php"},
		"https://old.reddit.com/r/golang/":   {Social, "Reddit", "old.reddit.com", "https://old.reddit.com/r/golang"},
		"https://news.ycombinator.com/item": {
			Social, "Hacker News", "news.ycombinator.com", "https://news.ycombinator.com/item",
		},
		"https://de.search.yahoo.com/":    {Search, "Yahoo", "de.search.yahoo.com", "https://de.search.yahoo.com/"},
		"https://yandex.ru/search":        {Search, "Yandex", "yandex.ru", "https://yandex.ru/search"},
		"https://m.youtube.com/watch?v=1": {Video, "YouTube", "m.youtube.com", "https://m.youtube.com/watch"},
		"https://outlook.live.com/mail":   {Email, "Outlook", "outlook.live.com", "https://outlook.live.com/mail"},
		"https://u:p@other.example/a#b":   {Other, "", "other.example", "https://other.example/a"},
		"HTTP://Other.Example:80":         {Other, "", "other.example", "http://other.example/"},
		"android-app://com.google.android.gm/": {
			Email, "Gmail", "com.google.android.gm", "android-app://com.google.android.gm/",
		},
		"android-app://com.twitter.android": {Social, "X", "com.twitter.android", "android-app://com.twitter.android/"},
		"android-app://com.google.android.googlequicksearchbox/https/www.google.com": {
			Search, "Google", "com.google.android.googlequicksearchbox",
			"android-app://com.google.android.googlequicksearchbox/https/www.google.com",
		},
	} {
		s := Referrer([]byte(ref), "example.com")
		if diff := cmp.Diff(want, source{s.Kind, s.Name, string(s.Host), string(s.URL)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", ref, diff)
		}
	}
}

func TestEveryKnownSourceIsFound(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, row := range sources {
		for host := range strings.FieldsSeq(row.hosts) {
			if other := seen[host]; other != "" {
				t.Errorf("%s is %s and %s", host, other, row.name)
			}
			seen[host] = row.name
			host = strings.Replace(host, ".*", ".co.uk", 1)
			if s := Referrer([]byte("https://sub."+host+"/"), ""); s.Kind != row.kind || s.Name != row.name {
				t.Errorf("%s is %s %q, want %s %q", host, s.Kind, s.Name, row.kind, row.name)
			}
			if normal := string(appendHost(nil, []byte(host))); normal != host {
				t.Errorf("%s is not in its normal form %s", host, normal)
			}
		}
	}
}

func FuzzReferrer(f *testing.F) {
	f.Add([]byte("https://www.google.com/search?q=1"), "example.com")
	f.Add([]byte("android-app://com.example/https/x"), "")
	rules := Compile(nil, []string{"/**"}, nil)
	f.Fuzz(func(t *testing.T, ref []byte, domain string) {
		s := Referrer(ref, domain)
		if len(s.URL) > MaxReferrerLen || len(s.Host) > MaxHostLen ||
			(s.Kind == Direct) != (len(s.URL) == 0) || !isPrintable(s.URL) {
			t.Errorf("%q gives %s %q %q", ref, s.Kind, s.Host, s.URL)
		}
		if again := Referrer(s.URL, domain); again.Kind != s.Kind || !bytes.Equal(again.URL, s.URL) {
			t.Errorf("%q becomes %q", s.URL, again.URL)
		}
		var masked Source
		appendSource(nil, &masked, ref, domain, nil, rules)
		if len(masked.URL) > MaxReferrerLen {
			t.Errorf("%d bytes masked", len(masked.URL))
		}
	})
}
