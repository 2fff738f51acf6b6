package linkcache_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/resource/link/linkcache"
)

// readsOf is how many of the links 0 to n the store was asked for.
func readsOf(t *testing.T, c *linkcache.Cache, f *fake, n int) int {
	t.Helper()
	before := f.count(&f.reads)
	for i := range n {
		expect(t, c, "there is it", plain(i, 1).SlugKey, "v1")
	}
	return f.count(&f.reads) - before
}

func TestAsManyLinksAreHeldAsThereIsRoomFor(t *testing.T) {
	t.Parallel()
	const entries = 500
	f := newFake()
	for i := range entries {
		f.set(plain(i, 1))
	}
	c, reg := run(t, f, entries)
	if n := readsOf(t, c, f, entries); n != 0 {
		t.Errorf("%d of as many as there is room for were read", n)
	}
	f.set(plain(entries, 1))
	expect(t, c, "one more", plain(entries, 1).SlugKey, "v1")
	for name, want := range map[string]float64{"entries": entries, "evicted_total": 1} {
		if got := value(t, reg, "millrace_link_cache_"+name, ""); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func TestTheNewestLinksAndThoseAskedForStay(t *testing.T) {
	t.Parallel()
	const entries, more, asked = 20_000, 2000, 100
	f := newFake()
	for i := range entries + more {
		f.set(plain(i, 1)) // the greater the newer
	}
	c, reg := run(t, f, entries)
	var l link.Served
	old := func() (reads int) {
		before := f.count(&f.reads)
		for i := more; i < more+asked; i++ { // the oldest of those that are held
			if err := c.Find(t.Context(), []byte(plain(i, 1).SlugKey), time.Now(), &l); err != nil {
				t.Fatal(err)
			}
		}
		return f.count(&f.reads) - before
	}
	if n := old(); n != 0 {
		t.Errorf("%d links that there was room for were read", n)
	}
	if n := readsOf(t, c, f, more); n != more {
		t.Errorf("%d links were read, want the %d that there was no room for", n, more)
	}
	if n := old(); n > asked/10 {
		t.Errorf("%d of %d links that were asked for gave way", n, asked)
	}
	before := f.count(&f.reads)
	for i := entries + more - 5000; i < entries+more; i++ {
		if err := c.Find(t.Context(), []byte(plain(i, 1).SlugKey), time.Now(), &l); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.count(&f.reads) - before; n != 0 {
		t.Errorf("%d of the newest links gave way", n)
	}
	if n := value(t, reg, "millrace_link_cache_entries", ""); n != entries {
		t.Errorf("%v links are held, want %d", n, entries)
	}
}

// TestMemoryIsGivenBackByLinksThatChange changes links until what is of no use would be
// many times what is held.
func TestMemoryIsGivenBackByLinksThatChange(t *testing.T) {
	t.Parallel()
	const links, rounds = 2000, 40
	f := newFake()
	for i := range links {
		f.set(plain(i, 1))
	}
	c, reg := run(t, f, links)
	begin := value(t, reg, "millrace_link_cache_bytes", "")
	var l link.Served
	for v := int64(2); v < rounds; v++ {
		for i := range links {
			changed := plain(i, v)
			f.with(func() { f.links[changed.SlugKey] = changed })
			c.Apply(changeOf(changed))
			if err := c.Find(t.Context(), []byte(changed.SlugKey), time.Now(), &l); err != nil || l.Version != v {
				t.Fatalf("Find() = version %d, %v, want %d", l.Version, err, v)
			}
		}
	}
	if end := value(t, reg, "millrace_link_cache_bytes", ""); end > begin*1.1 {
		t.Errorf("%v bytes after changes, %v before", end, begin)
	}
}

// TestWhatWasToldStaysAsItWas keeps responses beyond the time for which the links are held.
func TestWhatWasToldStaysAsItWas(t *testing.T) {
	t.Parallel()
	const links = 3000
	f := newFake(special(-1))
	for i := range links {
		f.set(plain(i, 1))
	}
	c, _ := run(t, f, 64)
	want := map[string]*link.Served{}
	told := map[string]*link.Served{}
	for round := range 3 {
		for key, l := range f.links {
			var got link.Served
			if err := c.Find(t.Context(), []byte(key), time.Now(), &got); err != nil {
				t.Fatal(err)
			}
			told[fmt.Sprint(round, key)], want[fmt.Sprint(round, key)] = &got, l
		}
		runtime.GC()
	}
	if diff := cmp.Diff(want, told, sameTargets); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func heapBytes() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// many is a store of so many plain links, which it makes up as they are read: ids of 30
// bytes and addresses of 60.
type many struct {
	*fake

	links int
}

func (m many) ServingLinks(_ context.Context, before string, limit int) ([]link.Served, error) {
	n := m.links
	if before != "" {
		if _, err := fmt.Sscanf(strings.TrimPrefix(before, "lnk_"), "%d", &n); err != nil {
			return nil, err
		}
	}
	page := make([]link.Served, 0, limit)
	for n--; n >= 0 && len(page) < limit; n-- {
		page = append(page, *madeUp(n))
	}
	return page, nil
}

func madeUp(n int) *link.Served {
	return &link.Served{
		ID: fmt.Sprintf("lnk_%026d", n), OrganizationID: fmt.Sprintf("org_%026d", n%1000), Version: 1,
		SlugKey: fmt.Sprintf("s%07d", n),
		URL:     fmt.Sprintf("https://www.example.com/a/page/that/is/sixty/bytes/%09d", n), Enabled: true,
		RedirectStatus: 302,
		ForwardQuery:   true,
		Secret:         []byte("0123456789abcdef"),
	}
}

func filled(tb testing.TB, links int) *linkcache.Cache {
	tb.Helper()
	c := linkcache.New(linkcache.Config{Entries: links}, linkcache.Deps{
		Store: many{newFake(), links}, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = c.Run(ctx) }()
	for c.Ready(ctx) != nil {
		runtime.Gosched()
	}
	cancel()
	<-done
	return c
}

//nolint:paralleltest // counts allocations
func TestFindAllocatesNothing(t *testing.T) {
	f := newFake(plain(1, 1), special(2))
	f.links["dom_1/Sale"] = special(2)
	f.links["dom_1/Sale"].DomainID, f.links["dom_1/Sale"].SlugKey = "dom_1", "dom_1/Sale"
	c, _ := run(t, f, 10)
	var l link.Served
	for _, key := range []string{"slug-1", "dom_1/Sale"} {
		if n := testing.AllocsPerRun(1000, func() {
			if err := c.Find(t.Context(), []byte(key), time.Now(), &l); err != nil || c.Directory().Blocked(&l) {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v allocations for %s, want 0", n, key)
		}
	}
}

//nolint:paralleltest // measures the heap
func TestAPlainLinkTakesTwoHundredAndFiftyBytes(t *testing.T) {
	before := heapBytes()
	const links = 200_000
	c := filled(t, links)
	if n := (heapBytes() - before) / links; n > 250 {
		t.Errorf("%d bytes for each link, want 250 at most", n)
	}
	runtime.KeepAlive(c)
}

func BenchmarkFind(b *testing.B) {
	const links = 1_000_000
	c := filled(b, links)
	keys := make([][]byte, 1<<16)
	for i := range keys {
		keys[i] = []byte(madeUp(i * 13).SlugKey)
	}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		var l link.Served
		for i := 0; pb.Next(); i++ {
			if err := c.Find(b.Context(), keys[i%len(keys)], time.Now(), &l); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkFill(b *testing.B) {
	const links = 1_000_000
	for b.Loop() {
		before := heapBytes()
		c := filled(b, links)
		b.ReportMetric(float64(heapBytes()-before)/links, "bytes/link")
		runtime.KeepAlive(c)
	}
}
