package flagset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/tenant/managed"
)

var errDown = errors.New("the store is down")

// fake is a store of sets. The value of an organization's one flag tells of which version it is.
type fake struct {
	mu    sync.Mutex
	epoch int64
	sets  map[string]int64 // versions, by organization; one that is not there is gone
	large map[string]int   // bytes that a set has besides, by organization
	bad   map[string]bool  // sets that cannot be compiled
	down  bool
	noSet bool // sets cannot be read, and marks can
	reads map[string]int
	looks int          // at marks
	asked int          // marks
	now   int          // reads that are under way
	held  *flagset.Set // that the last read was told of
	most  int          // of those
	// read, where not nil, is called when a set was read, and before it is handed out.
	read func(id string)
}

func newFake(ids ...string) *fake {
	f := &fake{
		epoch: 1, sets: map[string]int64{}, large: map[string]int{}, bad: map[string]bool{}, reads: map[string]int{},
	}
	for _, id := range ids {
		f.sets[id] = 1
	}
	return f
}

func (f *fake) with(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

func (f *fake) count(of func() int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return of()
}

func (f *fake) readsOf(id string) int { return f.count(func() int { return f.reads[id] }) }

func (f *fake) FlagSet(_ context.Context, id string, held *flagset.Set) (*flagset.Contents, error) {
	f.with(func() { f.now++; f.most = max(f.most, f.now); f.held = held })
	defer f.with(func() { f.now-- })
	c, err := f.contents(id)
	f.mu.Lock()
	read := f.read
	f.mu.Unlock()
	if read != nil {
		read(id)
	}
	return c, err
}

func (f *fake) contents(id string) (*flagset.Contents, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads[id]++
	version, there := f.sets[id]
	switch {
	case f.down || f.noSet:
		return nil, errDown
	case !there:
		return nil, flagset.ErrGone
	}
	c := &flagset.Contents{Mark: flagset.Mark{Epoch: f.epoch, Version: version}}
	if version > 0 {
		c.Flags = []*flag.Flag{valued(id, fmt.Sprintf("v%d.%d", f.epoch, version)+strings.Repeat(" ", f.large[id]))}
	}
	if f.bad[id] {
		c.Flags[0].Definition.OffVariant = "none"
	}
	return c, nil
}

func (f *fake) FlagSetMarks(_ context.Context, ids []string) (map[string]flagset.Mark, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	f.asked += len(ids)
	if f.down {
		return nil, errDown
	}
	marks := map[string]flagset.Mark{}
	for _, id := range ids {
		marks[id] = flagset.Mark{Epoch: f.epoch, Version: f.sets[id]}
	}
	return marks, nil
}

// set changes the flags of an organization, and tells nobody.
func (f *fake) set(id string, version int64) { f.with(func() { f.sets[id] = version }) }

// valued is a flag that serves one text to everybody.
func valued(organizationID, text string) *flag.Flag {
	value, err := json.Marshal(text)
	if err != nil {
		return nil
	}
	return &flag.Flag{
		Record: managed.Record{ID: "flg_" + organizationID, OrganizationID: organizationID, Version: 1, Name: "nav"},
		State:  flag.Active, About: flag.About{Type: flag.String, Visibility: flag.Public},
		Definition: flageval.Definition{
			Key: "nav", Active: true, DefaultVariant: "a", OffVariant: "a",
			Variants: []flageval.Variant{{Key: "a", Value: value}},
		},
	}
}

// told is what control.v1 says of an organization's flags.
func told(id string, version int64) control.Change {
	return control.Change{
		Kind: control.Flags, ID: id, OrganizationID: id, Version: version, Epoch: 1, Refs: []string{id},
	}
}

const stale = time.Hour

func open(f *fake, bytes int64) (*flagset.Memory, *prometheus.Registry) {
	reg := prometheus.NewRegistry()
	return flagset.NewMemory(
		flagset.Config{Bytes: bytes, Stale: stale}, flagset.Deps{Store: f, Log: slog.New(slog.DiscardHandler), Metrics: reg},
	), reg
}

// run follows changes until the test ends.
func run(t *testing.T, f *fake, bytes int64) (*flagset.Memory, *prometheus.Registry) {
	t.Helper()
	m, reg := open(f, bytes)
	start(t, m)
	return m, reg
}

// logged is run with a log, which is to be read while nothing is under way.
func logged(t *testing.T, f *fake, to io.Writer) *flagset.Memory {
	t.Helper()
	m := flagset.NewMemory(flagset.Config{}, flagset.Deps{Store: f, Log: slog.New(slog.NewTextHandler(to, nil))})
	start(t, m)
	return m
}

func start(t *testing.T, m *flagset.Memory) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = m.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// served is what the organization's flag serves: "v", epoch, ".", version; "none", or the code
// of an error.
func served(t *testing.T, m *flagset.Memory, id string) string {
	t.Helper()
	s, err := m.Get(t.Context(), id)
	return of(s, err)
}

func of(s *flagset.Set, err error) string {
	if f, ok := errors.AsType[*apierr.Error](err); ok {
		return string(f.Code)
	}
	if err != nil {
		return err.Error()
	}
	is := s.Find("", "nav")
	if is == nil {
		return "none"
	}
	return strings.Trim(string(is.Definition.Variants[0].Value), `" `)
}

const away = "SERVICE_UNAVAILABLE"

func expect(t *testing.T, m *flagset.Memory, when, id, want string) {
	t.Helper()
	if got := served(t, m, id); got != want {
		t.Errorf("%s: %s serves %s, want %s", when, id, got, want)
	}
}

// pass lets virtual time go by, and what is under way come to rest.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// until waits for a condition, for a minute of virtual time at most, and returns how long that took.
func until(t *testing.T, is func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !is() {
		if time.Since(began) > time.Minute {
			t.Fatal("it did not become true within a minute")
		}
		pass(10 * time.Millisecond)
	}
	return time.Since(began)
}

// heartbeats have a memory trust in being told, anew every 1.5 s, until the test ends.
func heartbeats(t *testing.T, m *flagset.Memory) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			m.Trust(time.Now().Add(4500 * time.Millisecond))
			select {
			case <-ctx.Done():
			case <-time.After(1500 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
}

// value is what a registry says of a metric, with a label's value where there is one.
func value(t *testing.T, reg *prometheus.Registry, name, label string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}
