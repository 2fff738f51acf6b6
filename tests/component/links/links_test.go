package links_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/resource/link/redirect"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
)

// How soon a change is seen.
var (
	atOnce = testkit.Promised(time.Second)     // when changes arrive
	late   = testkit.Promised(6 * time.Second) // when they do not
)

// leads waits until a link leads somewhere on every edge, or nowhere: then to is empty.
func leads(t *testing.T, within time.Duration, v *visitor, edges []string, slug, to string) {
	t.Helper()
	testkit.Eventually(t, within, func() error {
		for i, e := range edges {
			a := v.get(t, e+"/"+slug)
			if a.location != to || to == "" && a.status != http.StatusNotFound {
				return fmt.Errorf("edge %d: %d to %q, want %q", i, a.status, a.location, to)
			}
		}
		return nil
	})
}

func TestAChangeIsSeenEverywhereAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, "").relay(t)
	edges := []string{s.edge(t, nil), s.edge(t, nil)}
	v := newVisitor(t, "198.51.100.1")
	l := s.create(t, link.Fields{Slug: new("summer")})
	leads(t, atOnce, v, edges, "Summer", "https://target.example/summer")

	l, err := s.links.Update(t.Context(), audit.BySystem(), managed.Target{OrganizationID: s.organizationID, Ref: l.ID},
		link.Fields{URL: new("https://b.example/x")})
	if err != nil {
		t.Fatal(err)
	}
	leads(t, atOnce, v, edges, "summer", "https://b.example/x")

	if _, err := s.links.Delete(t.Context(), audit.BySystem(),
		managed.Target{OrganizationID: s.organizationID, Ref: l.ID}); err != nil {
		t.Fatal(err)
	}
	leads(t, atOnce, v, edges, "summer", "")
}

func TestNoMoreVisitorsAreSentOnThanMayBe(t *testing.T) {
	t.Parallel()
	const visits, most = 1000, 100
	s := newStage(t, "").relay(t)
	edges := []string{s.edge(t, nil), s.edge(t, nil)}
	s.create(t, link.Fields{Slug: new("first-come"), MaxClicks: new(int64(most))})
	v := newVisitor(t, "198.51.100.2")
	head := func(i int) (response, error) {
		return v.ask(t.Context(), http.MethodHead, edges[i%2]+"/first-come", "")
	}
	if got := statuses(t, 2, head); got[http.StatusFound] != 2 {
		t.Errorf("of HEAD: %v", got)
	}
	got := statuses(t, visits, func(i int) (response, error) {
		return v.ask(t.Context(), http.MethodGet, edges[i%2]+"/first-come", "")
	})
	if diff := cmp.Diff(map[int]int{http.StatusFound: most, http.StatusGone: visits - most}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if got := statuses(t, 2, head); got[http.StatusGone] != 2 {
		t.Errorf("of HEAD, afterwards: %v", got)
	}
}

func TestAPasswordOpensALinkOnEveryEdge(t *testing.T) {
	t.Parallel()
	s := newStage(t, "").relay(t)
	edges := []string{s.edge(t, nil), s.edge(t, nil)}
	v := newVisitor(t, "198.51.100.3")
	s.create(t, link.Fields{Slug: new("vault"), Password: new("open sesame")})
	try := func(edge, password string) response {
		a, err := v.ask(t.Context(), http.MethodPost, edge+"/vault?x=1", "password="+password, "Content-Type",
			"application/x-www-form-urlencoded", "Accept", "text/html")
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := v.get(t, edges[0]+"/vault"); a.status != http.StatusOK || !strings.Contains(a.body, `type="password"`) {
		t.Fatalf("%d: %s", a.status, a.body)
	}
	if a := try(edges[0], "sesame"); a.status != http.StatusForbidden || !strings.Contains(a.body, `role="alert"`) {
		t.Fatalf("a wrong one: %d: %s", a.status, a.body)
	}
	a := try(edges[0], "open+sesame")
	cookies := (&http.Response{Header: a.header}).Cookies()
	if a.status != http.StatusSeeOther || a.location != "/vault?x=1" || len(cookies) != 1 {
		t.Fatalf("the right one: %d to %q, %v", a.status, a.location, a.header)
	}
	open := func(edge string) int {
		a, err := v.ask(t.Context(), http.MethodGet, edge+"/vault?x=1", "", "Cookie", cookies[0].Name+"="+cookies[0].Value)
		if err != nil {
			t.Fatal(err)
		}
		return a.status
	}
	if got := [2]int{open(edges[0]), open(edges[1])}; got != [2]int{http.StatusFound, http.StatusFound} {
		t.Errorf("with the cookie: %v", got)
	}
	l, err := s.links.Get(t.Context(), link.Ref{OrganizationID: s.organizationID, Slug: "vault"})
	if err == nil {
		_, err = s.links.Update(t.Context(), audit.BySystem(), managed.Target{OrganizationID: s.organizationID, Ref: l.ID},
			link.Fields{Password: new("another one")})
	}
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, atOnce, func() error {
		if got := open(edges[0]); got != http.StatusOK {
			return fmt.Errorf("with the cookie of the last password: %d", got)
		}
		return nil
	})
	for range redirect.MaxPasswords - 1 { // one was wrong before
		try(edges[0], "guess")
	}
	if a := try(edges[0], "another+one"); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
		t.Errorf("after %d wrong ones: %d", redirect.MaxPasswords, a.status)
	}
}

func TestWhoGuessesSlugsIsHeldBack(t *testing.T) {
	t.Parallel()
	s := newStage(t, "")
	e := s.edge(t, nil)
	v := newVisitor(t, "2001:db8:0:1::1")
	for i := range redirect.MaxUnknown {
		if a := v.get(t, e+"/guess-"+strconv.Itoa(i)); a.status != http.StatusNotFound {
			t.Fatalf("guess %d: %d", i+1, a.status)
		}
	}
	neighbour := newVisitor(t, "2001:db8:0:1::2")
	if a := neighbour.get(t, e+"/guess-61"); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" ||
		!strings.Contains(a.body, "Too many") {
		t.Errorf("one more: %d: %s", a.status, a.body)
	}
	if a := newVisitor(t, "2001:db8:0:2::1").get(t, e+"/guess-61"); a.status != http.StatusNotFound {
		t.Errorf("of another network: %d", a.status)
	}
}

func TestLinksAloneNeedNoKafka(t *testing.T) {
	t.Parallel()
	s := newStage(t, "") // without a relay: nobody tells of changes
	s.create(t, link.Fields{Slug: new("before")})
	e := s.edge(t, func(c *config.Settings) {
		c.Ingest.Listen, c.Shutdown.Grace = "", hasty
		c.Kafka.Brokers = []string{testkit.FreeAddr(t)}
	})
	v := newVisitor(t, "198.51.100.5")
	if a := v.get(t, e+"/before?x=1"); a.status != http.StatusFound || a.location != "https://target.example/before?x=1" {
		t.Fatalf("%d to %q", a.status, a.location)
	}
	s.create(t, link.Fields{Slug: new("after")})
	leads(t, late, v, []string{e}, "after", "https://target.example/after")
	l, err := s.links.Get(t.Context(), link.Ref{OrganizationID: s.organizationID, Slug: "before"})
	if err == nil {
		_, err = s.links.Delete(t.Context(), audit.BySystem(), managed.Target{OrganizationID: s.organizationID, Ref: l.ID})
	}
	if err != nil {
		t.Fatal(err)
	}
	leads(t, late, v, []string{e}, "before", "")
}

func TestKnownLinksLeadOnWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	server := services.Own(t, services.KindPostgres)
	s := newStage(t, server.Database(t)).relay(t)
	s.create(t, link.Fields{Slug: new("known")})
	s.create(t, link.Fields{Slug: new("counted"), MaxClicks: new(int64(10))})
	e := s.edge(t, nil)
	v := newVisitor(t, "198.51.100.6")
	leads(t, atOnce, v, []string{e}, "known", "https://target.example/known")

	server.Kill(t)
	unavailable := func(slug string) {
		t.Helper()
		testkit.Eventually(t, patient, func() error {
			a := v.get(t, e+"/"+slug)
			if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") != "5" {
				return fmt.Errorf("%s: %d, Retry-After %q", slug, a.status, a.header.Get("Retry-After"))
			}
			return nil
		})
	}
	unavailable("unheard-of")
	unavailable("counted")
	for range 100 {
		if a := v.get(t, e+"/known"); a.status != http.StatusFound {
			t.Fatalf("a known one: %d", a.status)
		}
	}
	server.Start(t)
	leads(t, patient, v, []string{e}, "unheard-of", "")
	leads(t, patient, v, []string{e}, "counted", "https://target.example/counted")
}
