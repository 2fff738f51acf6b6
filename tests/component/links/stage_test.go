// Package links_test proves the host of short links on a store, a broker and a listener of
// its own: how soon a change of a link is seen, that of several edges no more visitors are
// sent on than may be, what browsers and programs get, and that links go on leading where
// they do while the store or the broker is away.
package links_test

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/app/daemon/propagation"
	"github.com/millrace/millrace/internal/app/edge"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

const patient = time.Minute // for what has no limit of its own

// stage is what edges share.
type stage struct {
	db             *store.Store
	links          *link.Service
	organizationID string
	settings       config.Settings
}

// newStage prepares a store and a broker; the store is SQLite, unless its URL is given.
func newStage(t *testing.T, storeURL string) *stage {
	t.Helper()
	if storeURL == "" {
		storeURL = "sqlite:" + filepath.Join(testkit.ShortDir(t), "meta.db")
	}
	s := &stage{settings: config.Default()}
	_, s.settings.Kafka = kafkatest.Cluster(t)
	s.settings.Store.URL, s.settings.Limits = config.Secret(storeURL), testkit.WideLimits()
	// So that each test is a visitor of its own.
	s.settings.Proxy.Trusted = []string{"127.0.0.0/8"}
	if _, err := kafka.EnsureTopics(t.Context(), s.settings.Kafka); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.db, err = store.Open(t.Context(), storeURL, store.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.db.Close() })
	if err := s.db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	o, err := org.New("Acme", time.Now())
	if err == nil {
		err = s.db.CreateOrganization(t.Context(), audit.BySystem(), o)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.organizationID = o.ID
	s.links = link.NewService(
		link.Rules{Schemes: s.settings.Link.Schemes, PublicURL: "https://go.example", MaxLinks: 1000},
		link.Deps{
			Store:     s.db,
			Folders:   s.db,
			Domains:   s.db,
			Passwords: org.NewPasswordsAt(org.Costs{MemoryKiB: 8, Passes: 1, Lanes: 1}),
		},
	)
	return s
}

// relay tells of changes until the test ends.
func (s *stage) relay(t *testing.T) *stage {
	t.Helper()
	run(t, patient,
		func(_ context.Context, tel *telemetry.Telemetry, r *lifecycle.Readiness) ([]lifecycle.Component, error) {
			f, changes := propagation.Follow("relay", s.settings, tel, r, nil)
			components, err := propagation.Relay("relay", s.settings, tel, s.db, f)
			return append(components, changes), err
		})
	return s
}

// edge runs an edge until the test ends, and returns where it serves links.
func (s *stage) edge(t *testing.T, change func(*config.Settings)) string {
	t.Helper()
	own := s.settings
	own.Ingest.Listen, own.Link.Listen = testkit.FreeAddr(t), testkit.FreeAddr(t)
	if change != nil {
		change(&own)
	}
	run(t, own.Shutdown.Grace,
		func(ctx context.Context, tel *telemetry.Telemetry, r *lifecycle.Readiness) ([]lifecycle.Component, error) {
			return edge.Components(ctx, own, tel, r)
		})
	return "http://" + own.Link.Listen
}

// hasty is the grace of an edge whose clicks nobody will take any more.
const hasty = 100 * time.Millisecond

// run runs parts until the test ends, and returns when all of them are ready.
func run(t *testing.T, grace time.Duration, build func(context.Context, *telemetry.Telemetry, *lifecycle.Readiness) (
	[]lifecycle.Component, error,
),
) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	tel, readiness := telemetry.Discard(), &lifecycle.Readiness{}
	components, err := build(ctx, tel, readiness)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- lifecycle.Run(ctx,
			lifecycle.Options{Log: tel.Log, Readiness: readiness, OnReady: func() { close(started) }, Grace: grace},
			components...)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && grace != hasty {
			t.Errorf("stopping: %v", err)
		}
	})
	select {
	case <-started:
	case err := <-ended:
		ended <- nil
		t.Fatalf("starting: %v", err)
	}
	within, done := context.WithTimeout(t.Context(), patient)
	defer done()
	if err := readiness.Await(within); err != nil {
		t.Fatal(err)
	}
}

// create makes a link.
func (s *stage) create(t *testing.T, f link.Fields) *link.Link {
	t.Helper()
	if f.URL == nil {
		f.URL = new("https://target.example/" + *f.Slug)
	}
	l, err := s.links.Create(t.Context(), audit.BySystem(), s.organizationID, f)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// response is what a visitor sees.
type response struct {
	status   int
	location string
	header   http.Header
	body     string
}

// visitor asks from an address of its own, and keeps to what it is answered.
type visitor struct {
	addr   string
	client *http.Client
}

func newVisitor(t *testing.T, addr string) *visitor {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return &visitor{addr, &http.Client{
		Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (v *visitor) ask(ctx context.Context, method, url, body string, header ...string) (response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return response{}, err
	}
	req.Header.Set("X-Forwarded-For", v.addr)
	req.Header.Set("User-Agent",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := v.client.Do(req)
	if err != nil {
		return response{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return response{resp.StatusCode, resp.Header.Get("Location"), resp.Header, string(text)}, err
}

// get asks as a browser does.
func (v *visitor) get(t *testing.T, url string) response {
	t.Helper()
	a, err := v.ask(t.Context(), http.MethodGet, url, "", "Accept", "text/html,*/*;q=0.8")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// statuses counts the responses to many visitors at once.
func statuses(t *testing.T, n int, ask func(i int) (response, error)) map[int]int {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	counts, turns := map[int]int{}, make(chan struct{}, 64)
	for i := range n {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			a, err := ask(i)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			counts[a.status]++
		})
	}
	wg.Wait()
	return counts
}
