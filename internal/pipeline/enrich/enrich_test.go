package enrich_test

import (
	"log/slog"
	"net/netip"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
)

func open(t *testing.T) *enrich.Enricher {
	t.Helper()
	e, err := enrich.New(enrich.Config{}, enrich.Deps{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

const chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 " +
	"Safari/537.36"

func TestAVisitorIsWhatAgentAndAddressTell(t *testing.T) {
	t.Parallel()
	e := open(t)
	got := e.Visitor(netip.MustParseAddr("91.198.174.192"), []byte(chrome))
	want := enrich.Visitor{
		Agent: &enrich.Agent{
			Browser: "Chrome", BrowserVersion: "126", OS: "Windows", OSVersion: "10", Device: enrich.Desktop,
		},
		Place: enrich.Place{Country: "NL"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("visitor (-want +got):\n%s", diff)
	}
}

func TestAPageIsReadByItsWebsitesRules(t *testing.T) {
	t.Parallel()
	e := open(t)
	w := &website.Website{
		Record: managed.Record{ID: "web_1", Version: 1}, Domain: "example.com", Settings: website.Settings{
			MaskPatterns: []string{"/users/*/**"}, TrackQueryParams: []string{"tab", "utm_source"},
			ExcludedPaths: []string{"/admin/**"},
		},
	}
	var p enrich.PageInfo
	e.Page(&p,
		[]byte("HTTPS://me:secret@www.Example.com:443/users/42/Orders/?tab=a+b&utm_source=News%20letter&x=1&gclid=abc#/top/"),
		[]byte("https://shop.example.com/users/42?token=1"), w)
	type page struct {
		Host, Path              string
		Excluded                bool
		Kind                    enrich.Kind
		From, Source, Click, ID string
	}
	want := page{
		"example.com", "/users/*/*?tab=a%20b#/top", false, enrich.Internal, "https://shop.example.com/users/*",
		"News letter", "gclid", "abc",
	}
	got := page{
		string(p.Host), string(p.Path), p.Excluded, p.Referrer.Kind, string(p.Referrer.URL), string(p.Campaign.Source),
		p.Campaign.ClickKind, string(p.Campaign.ClickID),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
	e.Page(&p, []byte("/admin"), nil, w)
	if !p.Excluded || p.Referrer.Kind != enrich.Direct {
		t.Errorf("got %+v", p)
	}
}

//nolint:paralleltest // counts allocations
func TestWhatWasSeenBeforeAllocatesNothing(t *testing.T) {
	e := open(t)
	w := &website.Website{
		Record: managed.Record{ID: "web_1", Version: 1}, Domain: "example.com", Settings: website.Settings{
			MaskPatterns: []string{"/users/*/**"}, ExcludedPaths: []string{"/admin/**"}, TrackQueryParams: []string{"tab"},
		},
	}
	addr, agent := netip.MustParseAddr("91.198.174.192"), []byte(chrome)
	url, ref := []byte("https://example.com/users/42/orders?tab=1&utm_source=x"), []byte("https://example.com/users/1")
	other := []byte("/users/43?gclid=abc#/a")
	var p enrich.PageInfo
	run := func() {
		_ = e.Visitor(addr, agent)
		e.Page(&p, url, ref, w)
		e.Page(&p, other, ref, w)
		e.Page(&p, other, ref, w)
	}
	run()
	e.Settle()
	if n := testing.AllocsPerRun(1000, run); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestANewVersionOfAWebsiteHasNewRules(t *testing.T) {
	t.Parallel()
	e := open(t)
	w := website.Website{
		Record: managed.Record{ID: "web_1", Version: 1}, Settings: website.Settings{ExcludedPaths: []string{"/old"}},
	}
	changed := website.Website{
		Record: managed.Record{ID: "web_1", Version: 2}, Settings: website.Settings{ExcludedPaths: []string{"/new"}},
	}
	other := website.Website{
		Record: managed.Record{ID: "web_2", Version: 1}, Settings: website.Settings{ExcludedPaths: []string{"/other"}},
	}
	var p enrich.PageInfo
	for range 2 { // compiled, then remembered
		for _, tc := range []struct {
			website *website.Website
			path    string
			want    bool
		}{
			{&w, "/old", true},
			{&w, "/new", false},
			{&changed, "/old", false},
			{&changed, "/new", true},
			{&other, "/other", true},
			{nil, "/old", false},
		} {
			if e.Page(&p, []byte(tc.path), nil, tc.website); p.Excluded != tc.want {
				t.Errorf("%s of %+v is excluded: %t, want %t", tc.path, tc.website, p.Excluded, tc.want)
			}
		}
	}
}

func TestAPageKeepsNothingOfTheOneBefore(t *testing.T) {
	t.Parallel()
	e := open(t)
	var p enrich.PageInfo
	e.Page(&p, []byte("https://example.com/a?utm_source=x&gclid=y"), []byte("https://google.com/"), nil)
	e.Page(&p, nil, nil, nil)
	if len(p.Host)+len(p.Path)+len(p.Campaign.Source)+len(p.Campaign.ClickID)+len(p.Referrer.URL) > 0 ||
		p.Referrer.Kind != enrich.Direct || p.Campaign.ClickKind != "" {
		t.Errorf("got %+v", p)
	}
}

func TestTheSameQuestionHasTheSameResult(t *testing.T) {
	t.Parallel()
	e := open(t)
	excludes := &website.Website{
		Record: managed.Record{ID: "web_1", Version: 1}, Settings: website.Settings{ExcludedPaths: []string{"/a"}},
	}
	counts := &website.Website{Record: managed.Record{ID: "web_1", Version: 2}}
	var p enrich.PageInfo
	for _, tc := range []struct {
		url, referrer string
		website       *website.Website
		excluded      bool
		kind          enrich.Kind
	}{
		{"/a", "", excludes, true, enrich.Direct},
		{"/a", "", excludes, true, enrich.Direct},
		{"/a", "", counts, false, enrich.Direct},
		{"/a", "https://google.com/", counts, false, enrich.Search},
		{"/b", "https://google.com/", excludes, false, enrich.Search},
	} {
		e.Page(&p, []byte(tc.url), []byte(tc.referrer), tc.website)
		if string(p.Path) != tc.url || p.Excluded != tc.excluded || p.Referrer.Kind != tc.kind {
			t.Errorf("%+v: got %s, %t, %s", tc, p.Path, p.Excluded, p.Referrer.Kind)
		}
	}
}

func TestAPageIsReadFromMemoryThatIsUsedAgain(t *testing.T) {
	t.Parallel()
	e := open(t)
	url, referrer := []byte("https://example.com/a?utm_source=x"), []byte("https://google.com/search")
	var p enrich.PageInfo
	e.Page(&p, url, referrer, nil)
	for _, b := range [][]byte{url, referrer} {
		for i := range b {
			b[i] = '!'
		}
	}
	got := []string{
		string(p.Host), string(p.Path), string(p.Campaign.Source), string(p.Referrer.URL), string(p.Referrer.Host),
	}
	if diff := cmp.Diff([]string{"example.com", "/a", "x", "https://google.com/search", "google.com"}, got); diff != "" {
		t.Errorf("after the request's memory was used again (-want +got):\n%s", diff)
	}
}

func TestAnEnricherIsForManyAtOnce(t *testing.T) {
	t.Parallel()
	e := open(t)
	var g sync.WaitGroup
	for worker := range 4 {
		g.Go(func() {
			var p enrich.PageInfo
			for i := range 500 {
				w := website.Website{
					Record:   managed.Record{ID: strconv.Itoa(i % 7), Version: int64(worker % 2)},
					Settings: website.Settings{MaskPatterns: []string{"/a/*"}},
				}
				e.Page(&p, []byte("/a/b"), nil, &w)
				v := e.Visitor(netip.AddrFrom4([4]byte{8, 8, 8, byte(i)}), []byte("curl/"+strconv.Itoa(i%50)))
				if string(p.Path) != "/a/*" || v.Agent.Browser != "curl" || v.Place.Country != "US" {
					t.Errorf("got %s and %+v", p.Path, v)
					return
				}
			}
		})
	}
	g.Wait()
}

func BenchmarkPage(b *testing.B) {
	e, err := enrich.New(enrich.Config{}, enrich.Deps{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	w := &website.Website{
		Record: managed.Record{ID: "web_1", Version: 1}, Domain: "example.com", Settings: website.Settings{
			MaskPatterns: []string{"/users/*/**"}, ExcludedPaths: []string{"/admin/**"}, TrackQueryParams: []string{"tab"},
		},
	}
	url, referrer := []byte("https://www.example.com/users/42/orders?tab=1&utm_source=newsletter"),
		[]byte("https://www.google.com/")
	var p enrich.PageInfo
	b.Run("another", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			url[len(url)-1] = 'a' + byte(i%26)
			e.Page(&p, url, referrer, w)
		}
	})
	b.Run("the same", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e.Page(&p, url, referrer, w)
		}
	})
}
