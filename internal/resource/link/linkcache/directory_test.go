package linkcache_test

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/resource/link/linkcache"
)

// serves reports whether a cache knows a domain.
func serves(c *linkcache.Cache, hostname string) bool {
	d := c.Directory()
	return d != nil && d.Domain([]byte(hostname)) != nil
}

func own(hostname string) link.ServedDomain {
	return link.ServedDomain{ID: "dom_" + hostname, OrganizationID: "org_1", Hostname: hostname}
}

func TestACacheIsReadyWithItsDirectoryOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(plain(1, 1))
		f.directory, f.noDirectory = link.Directory{
			Domains: []link.ServedDomain{own("a.example")}, BlockedLinks: []string{"slug-1"},
		}, true
		c, reg := open(f, 10)
		start(t, c)
		<-time.After(time.Minute)
		if c.Ready(t.Context()) == nil || c.Directory() != nil {
			t.Errorf("ready without a directory: %v", c.Directory())
		}
		f.with(func() { f.noDirectory = false })
		<-time.After(2 * time.Second)
		if err := c.Ready(t.Context()); err != nil || !serves(c, "a.example") || !c.Directory().Blocked(plain(1, 1)) {
			t.Errorf("Ready() = %v, directory %+v", err, c.Directory())
		}
		for name, want := range map[string]float64{"domains": 1, "blocks": 1} {
			if got := value(t, reg, "millrace_link_cache_"+name, ""); got != want {
				t.Errorf("%v %s, want %v", got, name, want)
			}
		}
	})
}

func TestTheDirectoryIsReadAgainWithEachChangeOfIt(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]func(f *fake, apply func(control.Change)){
		"by change events of a domain": func(_ *fake, apply func(control.Change)) {
			apply(control.Change{Kind: control.Link, ID: "dom_1", OrganizationID: "org_1"})
			synctest.Wait()
		},
		"by change events of an organization": func(_ *fake, apply func(control.Change)) {
			apply(control.Change{Kind: control.Organization, ID: "org_1", Refs: []string{"org_1"}})
			synctest.Wait()
		},
		"by change events of its end": func(_ *fake, apply func(control.Change)) {
			apply(control.Change{Kind: control.Organization, ID: "org_1", Refs: []string{"org_1"}, Gone: true})
			synctest.Wait()
		},
		"by a look, of itself": func(f *fake, _ func(control.Change)) {
			f.with(func() { f.changes = append(f.changes, link.Change{}) })
			<-time.After(3 * time.Second)
		},
		"by a look, of an organization": func(f *fake, _ func(control.Change)) {
			f.with(func() { f.changes = append(f.changes, link.Change{OrganizationID: "org_1"}) })
			<-time.After(3 * time.Second)
		},
		"changes were lost": func(f *fake, _ func(control.Change)) {
			f.with(func() { f.life++ })
			<-time.After(3 * time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				theirs := plain(1, 1)
				theirs.OrganizationID = "org_2"
				f := newFake(theirs)
				c, _ := run(t, f, 10)
				f.with(func() { f.directory.Domains = []link.ServedDomain{own("a.example")} })
				<-time.After(time.Minute)
				if serves(c, "a.example") {
					t.Error("it was read although nobody told")
				}
				tell(f, c.Apply)
				if !serves(c, "a.example") {
					t.Error("it was not read")
				}
				before := f.count(&f.reads)
				expect(t, c, "a link", "slug-1", "v1")
				if f.count(&f.reads) != before {
					t.Error("a link was dropped")
				}
			})
		})
	}
}

func TestTheDirectoryThatWasReadAnswersForADayWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, reg := newFake(plain(1, 1)), prometheus.NewRegistry()
		f.directory.Domains = []link.ServedDomain{own("a.example")}
		var ahead atomic.Int64 // of the time here
		c := linkcache.New(linkcache.Config{}, linkcache.Deps{
			Store: f, Log: slog.New(slog.DiscardHandler), Metrics: reg,
			Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
		})
		start(t, c)
		synctest.Wait()
		// That changes are told of does not make right what could not be read.
		pass := func(d time.Duration) {
			ahead.Add(int64(d))
			<-time.After(2 * time.Second)
			c.Trust(time.Now().Add(48 * time.Hour))
		}
		f.setDown(true)
		f.with(func() { f.directory.Domains = []link.ServedDomain{own("b.example")} })
		c.Apply(control.Change{Kind: control.Link, ID: "dom_1"})
		pass(24*time.Hour - time.Minute)
		if !serves(c, "a.example") || serves(c, "b.example") {
			t.Error("within a day: the old one does not answer")
		}
		if age := value(t, reg, "millrace_link_cache_age_seconds", ""); age < 86_300 {
			t.Errorf("right %v s ago, although the directory changed a day ago", age)
		}
		pass(time.Minute)
		if c.Directory() != nil {
			t.Error("after a day: the old one still answers")
		}
		if got := versionAt(t, c, "slug-1", time.Now().Add(time.Duration(ahead.Load()))); !strings.HasPrefix(got, away) {
			t.Errorf("after a day: slug-1 is %s, want %s", got, away)
		}
		f.setDown(false)
		pass(0)
		if !serves(c, "b.example") {
			t.Error("the store is back: it was not read")
		}
	})
}
