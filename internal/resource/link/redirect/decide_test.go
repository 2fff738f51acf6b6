package redirect

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/resource/link/click"
)

// An entry breaks one rule and all that come after it: the first one decides.
func TestQuestionsAreAskedInOneOrder(t *testing.T) {
	t.Parallel()
	past, ahead := noon.Add(-time.Second), noon.Add(time.Second)
	shown := link.Preview{Title: "A title"}
	for _, tc := range []struct {
		name string
		link link.Link
		ask  func(*Request)
		kind Kind
		code apierr.Code
	}{
		{name: "disabled before expired", link: link.Link{ExpiresAt: past, PasswordHash: "#secret"}, code: apierr.NotFound},
		{
			name: "not begun before the password",
			link: link.Link{Enabled: true, StartsAt: ahead, PasswordHash: "#secret"},
			code: apierr.NotFound,
		},
		{
			name: "expired before the password",
			link: link.Link{Enabled: true, ExpiresAt: noon, PasswordHash: "#secret"},
			code: apierr.Gone,
		},
		{
			name: "expired with an address",
			link: link.Link{Enabled: true, ExpiresAt: noon, ExpiredURL: "https://over.example", PasswordHash: "#secret"},
			kind: Elsewhere,
		},
		{
			name: "a password before the preview",
			link: link.Link{Enabled: true, PasswordHash: "#secret", Preview: shown},
			ask:  as(preview),
			kind: AskPassword,
		},
		{
			name: "a preview before the target",
			link: link.Link{Enabled: true, Preview: shown},
			ask:  as(preview),
			kind: Previewed,
		},
		{name: "no preview for people", link: link.Link{Enabled: true, Preview: shown}, kind: Redirected},
		{name: "no preview for crawlers", link: link.Link{Enabled: true, Preview: shown}, ask: as(crawler), kind: Redirected},
		{name: "no preview where there is none", link: link.Link{Enabled: true}, ask: as(preview), kind: Redirected},
		{name: "open", link: link.Link{Enabled: true, StartsAt: noon, ExpiresAt: ahead}, kind: Redirected},
		{
			name: "a password for a link without one",
			link: link.Link{Enabled: true},
			ask:  func(r *Request) { r.Posted = true },
			code: apierr.MethodNotAllowed,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.link.Slug, tc.link.URL = "Sale", "https://target.example/"
			s := newStage(t, &tc.link)
			a, err := s.ask(t, "sALE", tc.ask)
			if code(err) != tc.code || err == nil && a.Kind != tc.kind {
				t.Errorf("answer %+v, error %v; want kind %d, code %q", a, err, tc.kind, tc.code)
			}
		})
	}
}

func as(agent string) func(*Request) { return func(r *Request) { r.UserAgent = []byte(agent) } }

func TestARedirectHasTheLinksStatusAndAddress(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 307, 308} {
		s := newStage(t,
			&link.Link{Slug: "a-b", Enabled: true, URL: "https://target.example/ü?x=%zz#f", RedirectStatus: status})
		want := Response{Status: status, Location: []byte("https://target.example/ü?x=%zz#f")}
		got, err := s.ask(t, "a-b", nil)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("error %v, answer (-want +got):\n%s", err, diff)
		}
	}
}

func TestWhatIsOverLeadsToItsOwnAddressAndIsNoClick(t *testing.T) {
	t.Parallel()
	s := newStage(t, &link.Link{
		Slug: "old", Enabled: true, URL: "https://a.example", ExpiredURL: "https://b.example/x", ExpiresAt: noon,
		UTM: link.UTM{Source: "s"},
	})
	for posted, status := range map[bool]int{false: 302, true: 303} {
		a, err := s.ask(t, "old", func(r *Request) { r.Posted, r.Query = posted, []byte("a=1") })
		want := Response{Kind: Elsewhere, Status: status, Location: []byte("https://b.example/x")}
		if diff := cmp.Diff(want, a); diff != "" || err != nil {
			t.Errorf("error %v, answer (-want +got):\n%s", err, diff)
		}
	}
	if len(s.clicks) != 0 {
		t.Errorf("%d clicks", len(s.clicks))
	}
}

func TestClicksAreTakenOfRedirectsAndPreviews(t *testing.T) {
	t.Parallel()
	shown := link.Preview{Title: "A title"}
	for _, tc := range []struct {
		name, bot string
		status    int // 0: no click
		ask       func(*Request)
	}{
		{"of a person", "", 302, nil},
		{"not of HEAD", "", 0, func(r *Request) { r.Head = true }},
		{"of a crawler", click.BotCrawler, 302, as(crawler)},
		{"of a preview", click.BotPreview, 200, as(preview)},
		{"of a prefetch", click.BotPrefetch, 302, func(r *Request) { r.Prefetch = true }},
		{"of a crawler that prefetches", click.BotCrawler, 302, func(r *Request) { as(crawler)(r); r.Prefetch = true }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, &link.Link{Slug: "abc", Enabled: true, URL: "https://a.example", Preview: shown})
			if _, err := s.ask(t, "abc", tc.ask); err != nil {
				t.Fatal(err)
			}
			switch {
			case tc.status == 0 && len(s.clicks) != 0:
				t.Errorf("clicks %+v, want none", s.clicks)
			case tc.status == 0:
			case len(s.clicks) != 1 || s.clicks[0].Bot != tc.bot || s.clicks[0].Status != tc.status ||
				s.clicks[0].Addr != visitor || !s.clicks[0].At.Equal(noon):
				t.Errorf("clicks %+v, want one of %q with %d", s.clicks, tc.bot, tc.status)
			}
		})
	}
}

func TestATargetIsChosenByWhatIsKnownOfAVisitor(t *testing.T) {
	t.Parallel()
	rule := func(id string, c link.Condition) link.Rule {
		c.Op = link.In
		return link.Rule{ID: id, URL: "https://" + id + ".example", Conditions: []link.Condition{c}}
	}
	s := newStage(t, &link.Link{Slug: "abc", Enabled: true, URL: "https://own.example", Rules: []link.Rule{
		rule("language", link.Condition{Field: link.Language, Values: []string{"fr"}}),
		rule("referrer", link.Condition{Field: link.ReferrerHost, Values: []string{"news.example"}}),
		rule("query", link.Condition{Field: link.Query, Name: "a b", Values: []string{"ü 1"}}),
		rule("os", link.Condition{Field: link.OS, Values: []string{"iOS"}}),
		rule("place", link.Condition{Field: link.Country, Values: []string{"DE"}}),
	}})
	for want, ask := range map[string]func(*Request){
		"language": func(r *Request) { r.Languages = []byte("de;q=0.8, fr-CA , en;q=0") },
		"referrer": func(r *Request) { r.Referrer = []byte("https://www.News.example/a?b") },
		"query":    func(r *Request) { r.Query = []byte("x=1&a+b=%C3%BC%201&a+b=2") },
		"os": func(r *Request) {
			r.UserAgent = []byte("Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like " +
				"Gecko) Version/17.4 Mobile/15E148 Safari/604.1")
		},
		"place": func(r *Request) { r.Languages = []byte("fr;q=0.00, *") },
	} {
		if _, err := s.ask(t, "abc", ask); err != nil {
			t.Fatal(err)
		}
		if got := s.clicks[len(s.clicks)-1]; got.RuleID != want {
			t.Errorf("rule %q, want %q", got.RuleID, want)
		}
	}
}

func TestPrefetchesAreToldByTheirHeaders(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		header, value string
		want          bool
	}{
		{"Sec-Purpose", "prefetch", true},
		{"Sec-Purpose", "prefetch;prerender", true},
		{"Sec-Purpose", "Prefetch;anonymous-client-ip", true},
		{"Purpose", "prefetch", true},
		{"X-Moz", "prefetch", true},
		{"X-Purpose", "preview", true},
		{"Sec-Purpose", "", false},
		{"X-Moz", "microsummary", false},
		{"Accept", "prefetch", false},
	} {
		if got := IsPrefetch([]byte(tc.header), []byte(tc.value)); got != tc.want {
			t.Errorf("%s: %s: %v", tc.header, tc.value, got)
		}
	}
}

func TestProgramsThatShowLinksAreKnown(t *testing.T) {
	t.Parallel()
	known := newAgents(t)
	for _, agent := range []string{
		"facebookexternalhit/1.1", "Twitterbot/1.0", "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
		"WhatsApp/2.23.20.0", "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
		"TelegramBot (like TwitterBot)", "LinkedInBot/1.0 (compatible; Mozilla/5.0)",
		"Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5",
		"Mastodon/4.2.0 (http.rb/5.1.1; +https://mastodon.example/) Bot",
	} {
		if got := botOf(known.Of([]byte(agent)), false); got != click.BotPreview {
			t.Errorf("%s is %q", agent, got)
		}
	}
}
