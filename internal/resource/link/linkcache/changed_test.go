package linkcache_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/resource/link"
)

// waiting is how many changed links wait to be read again.
const waiting = "millrace_link_cache_changes_waiting"

func TestAChangedLinkIsReadAgainAtOnceAndLeadsOnWithoutTheStore(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]func(c interface{ Apply(control.Change) }, changed ...*link.Served){
		"by change events": func(c interface{ Apply(control.Change) }, changed ...*link.Served) {
			for _, l := range changed {
				c.Apply(changeOf(l))
			}
		},
		"by a look": func(interface{ Apply(control.Change) }, ...*link.Served) { <-time.After(3 * time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake(plain(1, 1), plain(3, 1))
				c, _ := run(t, f, 10)
				f.set(plain(1, 2))
				f.set(plain(2, 1))
				f.delete(plain(3, 1))
				tell(c, plain(1, 2), plain(2, 1), plain(3, 2))
				synctest.Wait()
				f.setDown(true)
				expect(t, c, "changed", "slug-1", "v2")
				expect(t, c, "made", "slug-2", "v1")
				expect(t, c, "deleted", "slug-3", away)
				<-time.After(time.Hour)
				expect(t, c, "changed, an hour ago", "slug-1", "v2")
			})
		})
	}
}

func TestAChangedLinkThatCannotBeReadIsNotTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(plain(1, 1), plain(2, 1))
		c, _ := run(t, f, 10)
		f.setDown(true)
		f.set(plain(1, 2))
		c.Apply(changeOf(plain(1, 2)))
		for range 60 {
			<-time.After(time.Second)
			expect(t, c, "changed while the store is away", "slug-1", away)
			expect(t, c, "as it was", "slug-2", "v1")
		}
		f.setDown(false)
		<-time.After(3 * time.Second)
		f.setDown(true)
		expect(t, c, "the store was back for a moment", "slug-1", "v2")
	})
}

// TestReadingChangedLinksIsBounded changes as many links as may wait while none can be
// read, and one more.
func TestReadingChangedLinksIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const atATime, room, under = 8, 16384, 1 // one more has left the queue for a turn
		f, release := newFake(), make(chan struct{})
		c, reg := run(t, f, 2*room)
		f.with(func() { f.read = func() { <-release } })
		change := func(n int) {
			l := plain(n, 1)
			f.with(func() { f.links[l.SlugKey] = l })
			c.Apply(changeOf(l))
		}
		for i := range atATime + under {
			change(i)
			synctest.Wait()
		}
		if n := f.count(&f.reads); n != atATime {
			t.Errorf("%d reads at a time, want %d", n, atATime)
		}
		for i := range room {
			change(atATime + under + i)
		}
		left := func(want float64) {
			t.Helper()
			if n := value(t, reg, "millrace_link_cache_changes_left_total", ""); n != want {
				t.Errorf("%v changes are left, want %v", n, want)
			}
		}
		left(0)
		c.Apply(changeOf(plain(atATime+under, 1))) // waits already
		left(0)
		change(atATime + under + room)
		left(1)
		if n := value(t, reg, waiting, ""); n != room {
			t.Errorf("%v wait, want %d", n, room)
		}
		f.with(func() { f.read = nil })
		close(release)
		synctest.Wait()
		if n := value(t, reg, waiting, ""); n != 0 {
			t.Errorf("%v wait at the end", n)
		}
		f.setDown(true)
		expect(t, c, "the last that waited", fmt.Sprint("slug-", atATime+under+room-1), "v1")
		expect(t, c, "one too many", fmt.Sprint("slug-", atATime+under+room), away)
	})
}

func TestChangesThatComeAgainAreNotReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(plain(1, 1))
		c, _ := run(t, f, 10)
		f.set(plain(1, 3))
		for range 3 {
			for v := range int64(3) {
				c.Apply(changeOf(plain(1, v+1)))
				synctest.Wait()
			}
		}
		if n := f.count(&f.reads); n != 1 {
			t.Errorf("%d reads, want 1", n)
		}
	})
}
