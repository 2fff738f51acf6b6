package fault

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/app/query"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

const (
	// flagHosts are asked for each visitor, each of them for all flags by their keys.
	flagHosts = 2
	// flagVisitors are how many there are; flagVisitorsAtOnce of them ask at a time.
	flagVisitors, flagVisitorsAtOnce = 600, 8
)

// flagKeys are the flags, of which each is served by a percentage.
var flagKeys = []string{"split", "rollout"}

// flagFront is a front whose visitors ask query hosts for flags.
type flagFront struct {
	*front

	hosts []*child
	asked atomic.Int64 // visitors whom all hosts have answered

	mu     sync.Mutex
	served map[string]int // visitors, by flag and variant
}

// newFlagFront starts query hosts that know the flags.
func (s *stage) newFlagFront() *flagFront {
	s.t.Helper()
	f := &flagFront{front: s.newFront(flagHosts), served: map[string]int{}}
	f.makeFlags()
	for i := range f.settings {
		e := &f.settings[i]
		e.Query.Listen, e.ClickHouse = testkit.FreeAddr(s.t), s.clickhouse
		o := order{Role: query.Component, Settings: *e, StoreURL: f.store, RedisURL: e.Redis.URL.Reveal()}
		f.hosts = append(f.hosts, s.spawn(o))
	}
	for _, c := range f.hosts {
		c.heard("ready")
	}
	return f
}

func (f *flagFront) makeFlags() {
	f.s.t.Helper()
	on := flageval.Serve{Rollout: &flageval.Rollout{Variant: "on", Percentage: 50}}
	halves := flageval.Serve{Split: &[]flageval.Share{{Variant: "on", Weight: 50}, {Variant: "off", Weight: 50}}}
	for i, serve := range []flageval.Serve{halves, on} {
		makeFlag(f.s.t, f.front, flagKeys[i], []flageval.Rule{{Serve: serve}})
	}
}

// makeFlag adds a boolean flag that is on to the fixture's website.
func makeFlag(t *testing.T, f *front, key string, rules []flageval.Rule) {
	t.Helper()
	db, err := store.Open(t.Context(), f.store, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	service := flag.NewService(flag.Limits(), flag.Deps{Store: db, Versions: db, Segments: db})
	made, err := service.Create(t.Context(), audit.BySystem(), flag.Spec{
		OrganizationID: f.fixture.OrganizationID, WebsiteID: f.fixture.WebsiteID, Key: key, Type: flag.Boolean,
	}, flag.Fields{Rules: &rules})
	if err != nil {
		t.Fatal(err)
	}
	target := flag.Target{Target: managed.Target{OrganizationID: f.fixture.OrganizationID, Ref: made.ID}}
	if _, err := service.Switch(t.Context(), audit.BySystem(), target, flag.Enabled); err != nil {
		t.Fatal(err)
	}
}

// stream has all visitors ask all hosts.
func (f *flagFront) stream() (all *sync.WaitGroup) {
	all = &sync.WaitGroup{}
	var next atomic.Int64
	for range flagVisitorsAtOnce {
		all.Go(func() {
			for i := next.Add(1); i <= flagVisitors; i = next.Add(1) {
				f.visit(fmt.Sprint("visitor-", i))
			}
		})
	}
	return all
}

// visit asks each host for the flags of a visitor, twice, and notes what it is given. Every
// tenth one is known by an e-mail address.
func (f *flagFront) visit(visitor string) {
	who := url.Values{"clientId": {f.fixture.ClientID}, "keys": {strings.Join(flagKeys, ",")}, "userId": {visitor}}
	if strings.HasSuffix(visitor, "3") {
		who["email"], who["userId"] = []string{visitor + "@shop.example"}, nil
	}
	var given map[string]string
	for i := range 2 * flagHosts {
		at := "http://" + f.settings[i%flagHosts].Query.Listen + "/public/v1/flags/bulk?" + who.Encode()
		got, err := f.ask(at)
		if err != nil {
			f.s.t.Errorf("%s: %v", visitor, err)
			return
		}
		given = got
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, variant := range given {
		f.served[key+" "+variant]++
	}
	f.asked.Add(1)
}

// ask returns the variants of the flags.
func (f *flagFront) ask(at string) (map[string]string, error) {
	a, err := harness.Get(f.s.t.Context(), at, "")
	if err != nil {
		return nil, err
	}
	var response struct {
		Flags map[string]struct{ Variant string }
	}
	err = json.Unmarshal(a.Body, &response)
	if err != nil || a.Status != http.StatusOK || len(response.Flags) != len(flagKeys) {
		return nil, fmt.Errorf("answer %d %s, %w", a.Status, a.Body, err)
	}
	given := map[string]string{}
	for key, served := range response.Flags {
		given[key] = served.Variant
	}
	return given, nil
}

// more waits until so many visitors were answered in all.
func (f *flagFront) more(n int) {
	f.s.t.Helper()
	testkit.Eventually(f.s.t, patience, func() error {
		if now := f.asked.Load(); now < int64(n) {
			return fmt.Errorf("%d visitors were answered, want %d", now, n)
		}
		return nil
	})
}
