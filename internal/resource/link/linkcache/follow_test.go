package linkcache_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/resource/link"
)

// changeOf is what control.v1 tells of a link.
func changeOf(l *link.Served) control.Change {
	return control.Change{
		Kind: control.Link, ID: l.ID, OrganizationID: l.OrganizationID, Version: l.Version, Refs: []string{l.SlugKey},
	}
}

func TestChangesOfALinkHaveItReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(plain(1, 1), plain(2, 1))
		c, _ := run(t, f, 10)
		f.set(plain(1, 2))
		expect(t, c, "not told yet", "slug-1", "v1")
		c.Apply(changeOf(plain(1, 2)))
		expect(t, c, "told", "slug-1", "v2")
		c.Apply(changeOf(plain(1, 2)))
		c.Apply(changeOf(plain(1, 1)))
		expect(t, c, "told again", "slug-1", "v2")
		if n := f.count(&f.reads); n != 1 {
			t.Errorf("%d reads, want 1", n)
		}
		f.delete(plain(2, 1))
		c.Apply(changeOf(plain(2, 2)))
		expect(t, c, "deleted", "slug-2", absent)
		// Another link takes the slug; its versions begin anew.
		other := plain(3, 1)
		other.SlugKey = "slug-1"
		f.set(other)
		c.Apply(changeOf(other))
		expect(t, c, "another link", "slug-1", "v1")
	})
}

func TestTheEndOfAnOrganizationDropsItsLinksOnly(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]func(f *fake, apply func(control.Change)){
		"by change events": func(_ *fake, apply func(control.Change)) {
			apply(control.Change{Kind: control.Organization, ID: "org_1", Refs: []string{"org_1"}}) // of its settings
			apply(control.Change{Kind: control.Organization, ID: "org_1", Refs: []string{"org_1"}, Gone: true})
		},
		"by a look": func(f *fake, _ func(control.Change)) {
			f.with(func() { f.changes = append(f.changes, link.Change{OrganizationID: "org_1", Version: 2}) })
			<-time.After(6 * time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const own = 300
				f := newFake()
				for i := range own {
					f.set(plain(i, 1))
				}
				theirs := plain(own, 1)
				theirs.OrganizationID = "org_2"
				f.set(theirs)
				c, reg := run(t, f, 1000)
				f.with(func() { f.links = map[string]*link.Served{theirs.SlugKey: theirs} })
				tell(f, c.Apply)
				if n := value(t, reg, "millrace_link_cache_entries", ""); n != 1 {
					t.Errorf("%v links are held, want 1", n)
				}
				for i := range own {
					expect(t, c, "its own", plain(i, 1).SlugKey, absent)
				}
				expect(t, c, "another's", theirs.SlugKey, "v1")
			})
		})
	}
}

// TestWithoutChangesAChangeIsSeenWithinSixSeconds changes a link at all moments of the turn in
// which changes are looked for.
func TestWithoutChangesAChangeIsSeenWithinSixSeconds(t *testing.T) {
	t.Parallel()
	for name, trusted := range map[string]time.Duration{"never told": 0, "told until now": 4500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake(plain(1, 1))
				c, _ := run(t, f, 10)
				for v := int64(2); v < 60; v++ {
					<-time.After(time.Duration(v) * 37 * time.Millisecond)
					c.Trust(time.Now().Add(trusted))
					f.set(plain(1, v))
					began := time.Now()
					for version(t, c, "slug-1") != fmt.Sprint("v", v) && time.Since(began) < time.Minute {
						<-time.After(50 * time.Millisecond)
					}
					if took := time.Since(began); took > 6*time.Second {
						t.Errorf("seen after %v", took)
					}
				}
			})
		})
	}
}

func TestWhileToldOfChangesTheStoreIsLeftAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(plain(1, 1))
		c, reg := run(t, f, 10)
		for range 40 { // a minute
			c.Trust(time.Now().Add(4500 * time.Millisecond))
			<-time.After(1500 * time.Millisecond)
			if age := value(t, reg, "millrace_link_cache_age_seconds", ""); age > 1.5 {
				t.Fatalf("held for %v s without a word", age)
			}
		}
		if n := f.count(&f.looks); n > 3 {
			t.Errorf("%d looks within a minute", n)
		}
		f.setDown(true)
		c.Forget()
		for range 40 { // what was missed is not made up for
			c.Trust(time.Now().Add(4500 * time.Millisecond))
			<-time.After(1500 * time.Millisecond)
		}
		if age := value(t, reg, "millrace_link_cache_age_seconds", ""); age < 59 {
			t.Errorf("right %v s ago, although changes were missed", age)
		}
	})
}

func TestMissedChangesAreLookedForAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(plain(1, 1))
		c, _ := run(t, f, 10)
		c.Trust(time.Now().Add(time.Hour))
		<-time.After(time.Minute)
		f.set(plain(1, 2))
		c.Forget()
		synctest.Wait()
		expect(t, c, "after Forget", "slug-1", "v2")
	})
}

// TestAReadThatBeganBeforeAChangeIsNotKept holds a response of the store back until the
// change was told.
func TestAReadThatBeganBeforeAChangeIsNotKept(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]func(c interface{ Apply(control.Change) }){
		"of the link": func(c interface{ Apply(control.Change) }) { c.Apply(changeOf(plain(1, 2))) },
		"of its organization": func(c interface{ Apply(control.Change) }) {
			c.Apply(control.Change{Kind: control.Organization, ID: "org_1", Gone: true})
		},
		"of all": func(interface{ Apply(control.Change) }) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, release := newFake(), make(chan struct{})
				c, _ := run(t, f, 10)
				f.with(func() { f.links["slug-1"], f.read = plain(1, 1), func() { <-release } })
				var wg sync.WaitGroup
				wg.Go(func() { expect(t, c, "asked before the change", "slug-1", "v1") })
				synctest.Wait()
				f.with(func() { f.read = nil })
				f.set(plain(1, 2))
				if tell(c); name == "of all" {
					f.with(func() { f.life++ })
					<-time.After(1900 * time.Millisecond)
				}
				expect(t, c, "asked after the change", "slug-1", "v2")
				close(release)
				wg.Wait()
				synctest.Wait()
				expect(t, c, "after the old answer came", "slug-1", "v2")
			})
		})
	}
}

// TestAPageThatWasReadBeforeAChangeDoesNotUndoIt holds a page back while the cache is filled.
func TestAPageThatWasReadBeforeAChangeDoesNotUndoIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, release := newFake(plain(1, 1), plain(2, 1), plain(3, 1)), make(chan struct{})
		f.links["slug-3"].OrganizationID = "org_2"
		f.read = func() { <-release }
		c, reg := open(f, 10)
		start(t, c)
		synctest.Wait()
		f.with(func() { f.read = nil; delete(f.links, "slug-3") })
		f.set(plain(1, 2))
		c.Apply(changeOf(plain(1, 2)))
		c.Apply(control.Change{Kind: control.Organization, ID: "org_2", Gone: true})
		close(release)
		synctest.Wait()
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := value(t, reg, "millrace_link_cache_entries", ""); n != 2 {
			t.Errorf("%v links are held, want that of the page, and the one that was read again", n)
		}
		expect(t, c, "changed meanwhile", "slug-1", "v2")
		expect(t, c, "ended meanwhile", "slug-3", absent)
		expect(t, c, "as it was", "slug-2", "v1")
	})
}

func TestAStoreThatWasPutBackIsReadAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(plain(1, 5), plain(2, 1))
		c, _ := run(t, f, 10)
		f.with(func() {
			f.life++
			f.links = map[string]*link.Served{"slug-1": plain(1, 3), "slug-3": plain(3, 1)}
		})
		<-time.After(6 * time.Second)
		expect(t, c, "put back", "slug-1", "v3")
		expect(t, c, "not made yet", "slug-2", absent)
		expect(t, c, "made otherwise", "slug-3", "v1")
		// It is put back once more, and links cannot be read together.
		f.with(func() {
			f.life++
			f.noPages = true
			f.links = map[string]*link.Served{"slug-1": plain(1, 2)}
		})
		<-time.After(6 * time.Second)
		expect(t, c, "each is asked for", "slug-1", "v2")
		f.with(func() { f.noLinks = true })
		<-time.After(time.Minute)
		expect(t, c, "what is held stands in", "slug-3", "v1")
		f.with(func() { f.noPages, f.noLinks = false, false })
		<-time.After(6 * time.Second)
		expect(t, c, "read at last", "slug-1", "v2")
		expect(t, c, "read at last", "slug-3", absent)
	})
}

// TestNoReaderSeesAnOlderVersionThanWasTold changes links without end while others read
// them, with room for all and for half of them.
func TestNoReaderSeesAnOlderVersionThanWasTold(t *testing.T) {
	t.Parallel()
	const links, changes = 40, 3000
	for _, entries := range []int{links, links / 2} {
		f := newFake()
		for i := range links {
			f.set(plain(i, 1))
		}
		c, _ := run(t, f, entries)
		var told [links]atomic.Int64
		var wg sync.WaitGroup
		stop := make(chan struct{})
		for range 3 {
			wg.Go(func() {
				var l link.Served
				for {
					select {
					case <-stop:
						return
					default:
					}
					i := rand.IntN(links)
					least := told[i].Load()
					if err := c.Find(t.Context(), fmt.Appendf(nil, "slug-%d", i), time.Now(), &l); err != nil || l.Version < least ||
						l.URL != plain(i, l.Version).URL {
						t.Errorf("Find() = version %d to %s, %v, want at least %d", l.Version, l.URL, err, least)
					}
				}
			})
		}
		for v := int64(2); v < changes; v++ {
			l := plain(int(v)%links, v)
			f.set(l)
			c.Apply(changeOf(l))
			told[int(v)%links].Store(v)
			if v%500 == 0 {
				f.with(func() { f.life++ })
				c.Forget()
			}
		}
		close(stop)
		wg.Wait()
	}
}
