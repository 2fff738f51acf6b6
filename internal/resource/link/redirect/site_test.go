package redirect

import (
	"strconv"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/link"
)

// Three domains: one that leads everywhere, one that leads nowhere, and one that keeps case.
var (
	full = link.ServedDomain{
		ID: "dom_full", Hostname: "go.acme.example",
		RootURL: "https://acme.example/", NotFoundURL: "https://acme.example/missing",
		ExpiredURL: "https://acme.example/over",
	}
	bare  = link.ServedDomain{ID: "dom_bare", Hostname: "bare.example"}
	exact = link.ServedDomain{ID: "dom_exact", Hostname: "exact.example", CaseSensitive: true}
)

// neighbours is a stage with the same links on each host.
func neighbours(t *testing.T, blocked ...string) *stage {
	t.Helper()
	s := newStage(t)
	s.know(&link.Directory{
		Domains:      []link.ServedDomain{full, bare, exact},
		BlockedLinks: []string{"dom_full/barred", "dom_bare/barred", "barred"}, BlockedHosts: append(blocked, "evil.example"),
	})
	for _, d := range []link.ServedDomain{{}, full, bare, exact} {
		for slug, l := range map[string]link.Link{
			"open":   {Enabled: true},
			"off":    {},
			"barred": {Enabled: true},
			"evil": {Enabled: true, Variants: []link.Variant{
				{ID: "a", URL: "https://a.example", Weight: 1}, {ID: "b", URL: "https://a.evil.example", Weight: 1},
			}},
			"ahead": {Enabled: true, StartsAt: noon.Add(time.Second)},
			"over":  {Enabled: true, ExpiresAt: noon},
			"moved": {Enabled: true, ExpiresAt: noon, ExpiredURL: "https://moved.example"},
			"vault": {Enabled: true, PasswordHash: "#secret"},
			"none":  {Enabled: true, MaxClicks: 1},
		} {
			l.Slug, l.URL = slug, "https://target.example/"+d.ID
			l.ID = "lnk_" + d.ID + slug
			s.putOn(d, &l)
		}
	}
	for _, d := range []string{"", "dom_full", "dom_bare"} {
		s.uses["lnk_"+d+"none"] = 1
	}
	return s
}

// outcome tells a response, or the code of a rejection, in a word.
func outcome(a Response, err error) string {
	if err != nil {
		return string(apierr.Of(err).Code)
	}
	return responseNames[a.Kind] + " " + string(a.Location)
}

func on(host, path string) func(*Request) {
	return func(r *Request) { r.Host, r.Path = []byte(host), []byte(path) }
}

func TestEachHostAnswersForItsOwnLinks(t *testing.T) {
	t.Parallel()
	const lost, gone, away = "not_found_url https://acme.example/missing", "expired_url https://acme.example/over",
		"expired_url https://moved.example"
	for path, want := range map[string][3]string{ // on the shared host, a full domain, and a bare one
		"/": {"NOT_FOUND", "root_url https://acme.example/", "NOT_FOUND"},
		"":  {"NOT_FOUND", "root_url https://acme.example/", "NOT_FOUND"},
		"/OPEN": {
			"redirected https://target.example/", "redirected https://target.example/dom_full",
			"redirected https://target.example/dom_bare",
		},
		"/nope":                     {"NOT_FOUND", lost, "NOT_FOUND"},
		"/no/slug/":                 {"NOT_FOUND", lost, "NOT_FOUND"},
		"/robots.txt":               {"NOT_FOUND", lost, "NOT_FOUND"},
		"/favicon.ico":              {"NOT_FOUND", lost, "NOT_FOUND"},
		"/.well-known/security.txt": {"NOT_FOUND", lost, "NOT_FOUND"},
		"/off":                      {"NOT_FOUND", lost, "NOT_FOUND"},
		"/barred":                   {"NOT_FOUND", lost, "NOT_FOUND"},
		"/evil":                     {"NOT_FOUND", lost, "NOT_FOUND"},
		"/ahead":                    {"NOT_FOUND", lost, "NOT_FOUND"},
		"/over":                     {"GONE", gone, "GONE"},
		"/none":                     {"GONE", gone, "GONE"},
		"/moved":                    {away, away, away},
		"/vault":                    {"password_form ", "password_form ", "password_form "},
	} {
		s := neighbours(t)
		for i, host := range []string{"Go.Example:8082", "GO.acme.example.:443", "bare.example"} {
			if got := outcome(s.ask(t, "", on(host, path))); got != want[i] {
				t.Errorf("%s on %s: %s, want %s", path, host, got, want[i])
			}
		}
	}
}

func TestADomainMayKeepTheCaseOfItsSlugs(t *testing.T) {
	t.Parallel()
	s := neighbours(t)
	for path, want := range map[string]string{
		"/open": "redirected https://target.example/dom_exact", "/Open": "NOT_FOUND",
	} {
		if got := outcome(s.ask(t, "", on("exact.example", path))); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestWhatADomainSaysIsAnsweredWithGETAndIsNoClick(t *testing.T) {
	t.Parallel()
	s := neighbours(t)
	for _, path := range []string{"/", "/nope", "/over"} {
		for posted, status := range map[bool]int{false: 302, true: 303} {
			a, err := s.ask(t, "",
				func(r *Request) { on("go.acme.example", path)(r); r.Posted, r.Query = posted, []byte("a=1") })
			if err != nil || a.Status != status {
				t.Errorf("%s, posted %t: %+v, %v, want status %d", path, posted, a, err, status)
			}
		}
	}
	if len(s.clicks) != 0 {
		t.Errorf("clicks %+v", s.clicks)
	}
}

func TestADomainLeadsToNoBlockedHost(t *testing.T) {
	t.Parallel()
	s := neighbours(t, "acme.example")
	for path, want := range map[string]string{
		"/": "NOT_FOUND", "/nope": "NOT_FOUND", "/over": "GONE", "/moved": "expired_url https://moved.example",
	} {
		if got := outcome(s.ask(t, "", on("go.acme.example", path))); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestAHostThatNobodyKnowsHasNoLinks(t *testing.T) {
	t.Parallel()
	s := neighbours(t)
	looked := s.looked
	for i := range 2 * MaxUnknown {
		if got := outcome(s.ask(t, "", on("other.example", "/open-"+strconv.Itoa(i)))); got != "NOT_FOUND" {
			t.Fatalf("path %d: %s", i, got)
		}
	}
	if s.looked != looked {
		t.Error("links were looked for")
	}
	// All of it is one unknown slug.
	for i := range MaxUnknown - 1 {
		if got := outcome(s.ask(t, "nope"+strconv.Itoa(i), nil)); got != "NOT_FOUND" {
			t.Fatalf("unknown slug %d: %s", i, got)
		}
	}
	if got := outcome(s.ask(t, "one-more", nil)); got != "RATE_LIMITED" {
		t.Errorf("one more: %s", got)
	}
}

func TestPathsThatCanBeNoSlugAreNoTries(t *testing.T) {
	t.Parallel()
	s := neighbours(t)
	for i := range 2 * MaxUnknown {
		for _, host := range []string{"go.example", "go.acme.example"} {
			for _, path := range []string{"/robots.txt", "/favicon.ico", "/", "/no slug " + strconv.Itoa(i)} {
				if _, err := s.ask(t, "", on(host, path)); code(err) == apierr.RateLimited {
					t.Fatalf("%s on %s: %v", path, host, err)
				}
			}
		}
	}
	for i := range MaxUnknown {
		if got := outcome(s.ask(t, "",
			on("go.acme.example", "/nope"+strconv.Itoa(i)))); got != "not_found_url https://acme.example/missing" {
			t.Fatalf("unknown slug %d: %s", i, got)
		}
	}
	if got := outcome(s.ask(t, "", on("go.acme.example", "/one-more"))); got != "RATE_LIMITED" {
		t.Errorf("one more: %s", got)
	}
}

func TestWithoutANameEachHostIsTheSharedOneButDomains(t *testing.T) {
	t.Parallel()
	s := neighbours(t)
	s.shared = ""
	for host, want := range map[string]string{
		"other.example": "redirected https://target.example/", "": "redirected https://target.example/",
		"192.0.2.1:8082": "redirected https://target.example/",
		"bare.example":   "redirected https://target.example/dom_bare",
	} {
		if got := outcome(s.ask(t, "", on(host, "/open"))); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}

func TestWhileTheDirectoryIsNotKnownNothingIsAnswered(t *testing.T) {
	t.Parallel()
	s := neighbours(t)
	s.known = nil
	for _, host := range []string{"go.example", "bare.example", "other.example"} {
		if got := outcome(s.ask(t, "", on(host, "/open"))); got != "SERVICE_UNAVAILABLE" {
			t.Errorf("%s: %s", host, got)
		}
		if _, err := s.Serves(host); !apierr.Is(err, apierr.ServiceUnavailable) {
			t.Errorf("Serves(%s) = %v", host, err)
		}
	}
}

func TestHostsThatAreServedAreKnown(t *testing.T) {
	t.Parallel()
	s := neighbours(t)
	for host, want := range map[string]bool{
		"go.example": true, "bare.example": true, "Bare.Example": true, "other.example": false, "a.bare.example": false,
		"": false,
	} {
		if got, err := s.Serves(host); got != want || err != nil {
			t.Errorf("Serves(%s) = %t, %v, want %t", host, got, err, want)
		}
	}
	s.shared = ""
	for host, want := range map[string]bool{"go.example": false, "bare.example": true, "": false} {
		if got, err := s.Serves(host); got != want || err != nil {
			t.Errorf("without a shared host: Serves(%s) = %t, %v, want %t", host, got, err, want)
		}
	}
}

func TestAPassIsForItsLinkAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.know(&link.Directory{Domains: []link.ServedDomain{full}})
	for _, slug := range []string{"sale", "sale/inner"} {
		s.putOn(full,
			&link.Link{Slug: slug, Enabled: true, URL: "https://a.example", PasswordHash: "#secret", Secret: []byte(slug)})
	}
	ask := func(path string, change func(*Request)) (Response, error) {
		return s.ask(t, "", func(r *Request) { on("go.acme.example", path)(r); change(r) })
	}
	given, err := ask("/sale", func(r *Request) { r.Posted, r.Password = true, []byte("secret") })
	if err != nil || given.Kind != Accepted {
		t.Fatalf("%+v, %v", given, err)
	}
	for path, want := range map[string]Kind{"/sale": Redirected, "/sale/inner": AskPassword} { // browsers send it to both
		if a, err := ask(path, func(r *Request) { r.Pass = []byte(given.Pass) }); err != nil || a.Kind != want {
			t.Errorf("%s: %+v, %v, want kind %d", path, a, err, want)
		}
	}
}
