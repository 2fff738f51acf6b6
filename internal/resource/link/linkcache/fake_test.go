package linkcache_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/resource/link/linkcache"
)

var errDown = errors.New("the store is down")

// fake is a store of links that says what changed.
type fake struct {
	mu      sync.Mutex
	links   map[string]*link.Served // by slug key
	changes []link.Change
	life    int64 // of the store: it grows when it is put back
	down    bool
	noPages bool
	noLinks bool // neither can a page be read, nor a link
	reads   int  // of single links
	looks   int  // for changes
	// directory is read as it is here, unless it cannot be.
	directory   link.Directory
	noDirectory bool
	// read, where not nil, is called when a link or a page was read, and before it is
	// handed out.
	read func()
}

func newFake(links ...*link.Served) *fake {
	f := &fake{links: map[string]*link.Served{}}
	for _, l := range links {
		f.links[l.SlugKey] = l
	}
	return f
}

func (f *fake) cursor(seq int) link.Cursor {
	return link.Cursor{Seq: int64(seq), Mark: f.life<<32 + int64(seq)}
}

// await runs what stands between reading and handing out.
func (f *fake) await() {
	f.mu.Lock()
	read := f.read
	f.mu.Unlock()
	if read != nil {
		read()
	}
}

func (f *fake) ServingLinks(_ context.Context, before string, limit int) ([]link.Served, error) {
	page, err := f.page(before, limit)
	f.await()
	return page, err
}

func (f *fake) page(before string, limit int) (page []link.Served, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down || f.noPages {
		return nil, errDown
	}
	for _, l := range f.links {
		if before == "" || l.ID < before {
			page = append(page, *l)
		}
	}
	slices.SortFunc(page, func(a, b link.Served) int { return strings.Compare(b.ID, a.ID) })
	return page[:min(limit, len(page))], nil
}

func (f *fake) ServingLink(_ context.Context, key string) (*link.Served, error) {
	l, err := f.one(key)
	f.await()
	return l, err
}

func (f *fake) one(slug string) (*link.Served, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	switch l := f.links[slug]; {
	case f.down || f.noLinks:
		return nil, errDown
	case l == nil:
		return nil, link.ErrNotFound
	default:
		return l, nil
	}
}

func (f *fake) LinkDirectory(context.Context) (*link.Directory, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down || f.noDirectory {
		return nil, errDown
	}
	d := f.directory
	return &d, nil
}

func (f *fake) LinkCursor(context.Context) (link.Cursor, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return link.Cursor{}, errDown
	}
	return f.cursor(len(f.changes)), nil
}

func (f *fake) LinkChanges(_ context.Context, after link.Cursor, limit int) ([]link.Change, link.Cursor, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	switch {
	case f.down:
		return nil, after, errDown
	case after.Seq > int64(len(f.changes)) || after != f.cursor(int(after.Seq)):
		return nil, after, link.ErrChangesLost
	}
	upTo := min(len(f.changes), int(after.Seq)+limit)
	return slices.Clone(f.changes[after.Seq:upTo]), f.cursor(upTo), nil
}

// set keeps a link, and tells nobody but those who look.
func (f *fake) set(l *link.Served) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.links[l.SlugKey] = l
	f.changes = append(f.changes,
		link.Change{OrganizationID: l.OrganizationID, LinkID: l.ID, SlugKey: l.SlugKey, Version: l.Version})
}

func (f *fake) delete(l *link.Served) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.links, l.SlugKey)
	f.changes = append(f.changes,
		link.Change{OrganizationID: l.OrganizationID, LinkID: l.ID, SlugKey: l.SlugKey, Version: l.Version + 1})
}

func (f *fake) setDown(down bool) { f.with(func() { f.down = down }) }

func (f *fake) with(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

func (f *fake) count(of *int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *of
}

// plain is a link without anything special, of a version.
func plain(n int, version int64) *link.Served {
	return &link.Served{
		ID: fmt.Sprintf("lnk_%026d", n), OrganizationID: "org_1", Version: version, SlugKey: fmt.Sprintf("slug-%d", n),
		URL: fmt.Sprintf("https://example.com/%d/%d", n, version), Enabled: true, RedirectStatus: 302,
		Secret: []byte("0123456789abcdef"),
	}
}

// open returns a cache that does nothing before Run.
func open(f *fake, entries int) (*linkcache.Cache, *prometheus.Registry) {
	reg := prometheus.NewRegistry()
	return linkcache.New(linkcache.Config{Entries: entries},
		linkcache.Deps{Store: f, Log: slog.New(slog.DiscardHandler), Metrics: reg}), reg
}

// run runs a cache until the test ends, from when it is filled.
func run(t *testing.T, f *fake, entries int) (*linkcache.Cache, *prometheus.Registry) {
	t.Helper()
	c, reg := open(f, entries)
	start(t, c)
	for c.Ready(t.Context()) != nil {
		<-time.After(time.Millisecond)
	}
	return c, reg
}

func start(t *testing.T, c *linkcache.Cache) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// version is that of the link of a slug; an error's text where there is none.
func version(t *testing.T, c *linkcache.Cache, slug string) string {
	t.Helper()
	return versionAt(t, c, slug, time.Now())
}

// versionAt is version for one whose clock says so.
func versionAt(t *testing.T, c *linkcache.Cache, slug string, now time.Time) string {
	t.Helper()
	var l link.Served
	if err := c.Find(t.Context(), []byte(slug), now, &l); err != nil {
		return err.Error()
	}
	return fmt.Sprint("v", l.Version)
}

func expect(t *testing.T, c *linkcache.Cache, when, slug, want string) {
	t.Helper()
	if got := version(t, c, slug); !strings.HasPrefix(got, want) {
		t.Errorf("%s: %s is %s, want %s", when, slug, got, want)
	}
}

const (
	absent = "link not found"
	away   = "SERVICE_UNAVAILABLE"
)

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
