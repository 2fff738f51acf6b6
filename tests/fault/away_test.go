package fault

import (
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
	"github.com/millrace/millrace/tests/fault/faultproxy"
	"github.com/millrace/millrace/tests/harness"
)

// limitedKey makes a key of the fixture's organization with a limit of its own; 0
// for none.
func limitedKey(t *testing.T, storeURL string, f *harness.Fixture, limit int) string {
	t.Helper()
	db, err := store.Open(t.Context(), storeURL, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	k, secret, err := apikey.New(config.Default().Key.Prefix, apikey.Spec{
		OrganizationID: f.OrganizationID, Name: t.Name(), Scopes: auth.AllScopes().Strings(),
		RateLimit: apikey.RateLimit{Enabled: limit > 0, Limit: limit, Window: time.Hour},
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := db.CreateKey(t.Context(), audit.BySystem(), k); err != nil {
		t.Fatal(err)
	}
	return secret
}

// steady sends some hundred requests a second for a time.
func (x *target) steady(d time.Duration, request func([]byte, int) []byte) *tally {
	x.s.t.Helper()
	heard := newTally()
	l := load{addr: x.addr(), rate: 300, wires: 16, request: request, heard: heard.heard}
	l.run(x.s.t.Context(), d)
	return heard
}

// Redis answers nothing, on connections that stay open: edges decide by themselves,
// as fast as ever, and admit no more than each the whole limit.
func TestARedisThatAnswersNothingSlowsNobodyDown(t *testing.T) {
	tr := trial{
		fault: "F17 Redis black hole", point: "60 s", on: kfakeOnly, few: 1, alone: exacting(), once: true,
		body: func(t *testing.T, s *stage) {
			at, err := url.Parse(services.Redis(t))
			if err != nil {
				t.Fatal(err)
			}
			proxy := faultproxy.Start(t, at.Host)
			at.Host = proxy.Addr()
			x := s.newTarget(func(f *front) {
				f.settings[0].Redis.URL = config.Secret(at.String())
				f.settings[0].Limits.Window = time.Hour
			})
			const limit = 50
			key := limitedKey(t, x.store, x.fixture, limit)
			request := x.request(x.fixture.WebsiteID, "r")
			x.warm(request)
			before := x.steady(long(10*time.Second), request)
			proxy.Set(faultproxy.Rule{Kind: faultproxy.BlackHole})
			during := x.steady(long(time.Minute), request)
			admitted := 0
			for range 2 * limit {
				a, err := harness.Post(t.Context(), "http://"+x.addr()+"/track?website_id="+x.fixture.WebsiteID, key,
					[]byte(`{"name":"a"}`))
				switch {
				case err != nil || a.Status != 200 && a.Status != 429:
					t.Errorf("a limited key: %d %s, %v", a.Status, a.Body, err)
				case a.Status == 200:
					admitted++
				case a.Header.Get("Retry-After") == "":
					t.Error("a 429 does not say when to come again")
				}
			}
			proxy.Clear()
			t.Logf("before: %s; during: %s; %d of a limit of %d were admitted", before, during, admitted, limit)
			if n := during.others(200); n > 0 || len(during.errs) > 0 {
				t.Errorf("without Redis the edge answered %s", during)
			}
			if admitted > limit {
				t.Errorf("one edge admitted %d, with a limit of %d", admitted, limit)
			}
			if base, got := before.quantile(0.99), during.quantile(0.99); thorough() && got > base+5*time.Millisecond {
				t.Errorf("p99 is %s without Redis, %s with it", got, base)
			}
			s.took = during.quantile(0.99)
			s.verdict = verdict{partly: true, Acked: len(during.accepted)}
			x.stop()
		},
	}
	tr.run(t)
}

// The metadata store is away: who is known is served, who is not is told to come
// again, and nobody is told that a good key is none.
func TestWhileTheStoreIsAwayTheKnownAreServedAndNobodyIsTurnedDown(t *testing.T) {
	for _, kind := range []faultproxy.Kind{faultproxy.Refuse, faultproxy.BlackHole} {
		t.Run(kind.String(), func(t *testing.T) {
			tr := trial{
				fault: "F18 metadata store away", point: kind.String(), on: kfakeOnly, few: 1, alone: exacting(), once: true,
				body: func(t *testing.T, s *stage) {
					direct := services.Postgres(t)
					at, err := url.Parse(direct)
					if err != nil {
						t.Fatal(err)
					}
					proxy := faultproxy.Start(t, at.Host)
					at.Host = proxy.Addr()
					x := s.newTarget(func(f *front) {
						f.fixture, f.store = harness.Seed(t, direct), at.String()
						f.settings[0].Store.URL = config.Secret(f.store)
					})
					byKey, byPage := x.request(x.fixture.WebsiteID, "k"), x.page("p")
					known := func(buf []byte, n int) []byte {
						if n%2 == 0 {
							return byKey(buf, n)
						}
						return byPage(buf, n)
					}
					x.warm(known)
					proxy.Set(faultproxy.Rule{Kind: kind})
					// A good key that this edge has not seen.
					unknown := limitedKey(t, direct, x.fixture, 0)
					strangers := newTally()
					var asking sync.WaitGroup
					stop := make(chan struct{})
					asking.Go(func() {
						for n := 0; ; n++ {
							begin := time.Now()
							a, err := harness.Post(t.Context(), "http://"+x.addr()+"/track?website_id="+x.fixture.WebsiteID, unknown,
								[]byte(`{"name":"a"}`))
							after, _ := strconv.Atoi(a.Header.Get("Retry-After"))
							strangers.heard(reply{n: n, status: a.Status, retryAfter: after, took: time.Since(begin), err: err})
							if err == nil && a.Status == 503 && after != 5 {
								t.Errorf("a stranger is to come again after %d s", after)
							}
							select {
							case <-stop:
								return
							default:
							}
						}
					})
					friends := x.steady(long(5*time.Minute), known)
					close(stop)
					asking.Wait()
					proxy.Clear()
					t.Logf("known: %s; unknown: %s", friends, strangers)
					if n := friends.others(200); n > 0 || len(friends.errs) > 0 {
						t.Errorf("those who are known: %s", friends)
					}
					if n := strangers.others(503); n > 0 || len(strangers.errs) > 0 {
						t.Errorf("those who are not: %s", strangers)
					}
					testkit.Eventually(t, patience, func() error {
						a, err := harness.Post(t.Context(), "http://"+x.addr()+"/track?website_id="+x.fixture.WebsiteID, unknown,
							[]byte(`{"name":"a"}`))
						if err == nil && a.Status != 200 {
							err = errNotYet
						}
						return err
					})
					s.took = friends.quantile(0.99)
					s.verdict = verdict{partly: true, Acked: len(friends.accepted)}
					x.stop()
				},
			}
			tr.run(t)
		})
	}
}
