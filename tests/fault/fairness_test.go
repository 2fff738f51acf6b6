package fault

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit"
)

// One website sends nine tenths of what an edge is asked: the others' responses come
// as fast as when the same load is everybody's.
func TestAWebsiteWithNineTenthsOfTheRequestsDoesNotSlowTheOthersDown(t *testing.T) {
	testkit.OnlyStrict(t, "latency beside a busy website")
	tr := trial{
		fault: "F16 hot website", point: "90 % of the requests, at the edge", on: kfakeOnly, few: 1, alone: true, once: true,
		body: func(t *testing.T, s *stage) {
			turns := 4
			x := s.newTarget(func(f *front) {
				if !testkit.Strict() { // a machine that stands still makes a queue of its own
					f.settings[0].Ingest.QueueTime, turns = 30*time.Second, 1
				}
			})
			hot, other := x.fixture.WebsiteID, x.fixture.SecondWebsiteID
			x.warm(x.request(hot, "w"))
			x.warm(x.request(other, "v"))
			capacity := x.capacity(x.request(hot, "c"), 64, brief(5*time.Second))
			// The others' requests are one in ten, or all of them are; in turns.
			rate := capacity / 4
			measure := func(prefix string, of func(n int) (website string)) seconds {
				heard := make(seconds, int(brief(5*time.Second)/time.Second))
				for i := range heard {
					heard[i] = newTally()
				}
				a, b := x.request(hot, prefix), x.request(other, prefix)
				l := load{addr: x.addr(), rate: rate, wires: 256, request: func(buf []byte, n int) []byte {
					if of(n) == hot {
						return a(buf, n)
					}
					return b(buf, n)
				}, heard: func(r reply) {
					if r.n%10 == 0 {
						heard[min(r.n/rate, len(heard)-1)].heard(r)
					}
				}}
				l.run(t.Context(), brief(5*time.Second))
				return heard
			}
			var alike, beside seconds
			for turn := range turns {
				alike = append(alike, measure(fmt.Sprint("e", turn), func(n int) string { return []string{hot, other}[n/10%2] })...)
				beside = append(beside, measure(fmt.Sprint("h", turn), func(n int) string {
					if n%10 == 0 {
						return other
					}
					return hot
				})...)
			}
			for _, heard := range beside {
				if n := heard.others(200); n > 0 {
					t.Errorf("%d requests of the others were refused: %s", n, heard)
				}
				s.verdict.Acked += len(heard.accepted)
			}
			base, got := alike.p99(), beside.p99()
			t.Logf("at %d/s, the others' p99 in most seconds: %s with the load spread (%v), %s beside the hot website (%v)",
				rate, base, alike, got, beside)
			if thorough() && got > base*3/2+time.Millisecond {
				t.Errorf("the others' p99 is %s, want at most 1.5 times %s", got, base)
			}
			s.took, s.verdict.partly = got, true
			x.stop()
		},
	}
	tr.run(t)
}

// seconds is what was heard in each second of a load.
type seconds []*tally

// p99 is the median of the seconds' p99: what most seconds were like. That of all the
// requests of five seconds is decided by a single pause of the machine, which may fall
// on either side: one of 50 ms is a hundredth of that time.
func (all seconds) p99() time.Duration {
	each := make([]time.Duration, len(all))
	for i, heard := range all {
		each[i] = heard.quantile(0.99)
	}
	slices.Sort(each)
	return each[len(each)/2]
}

// An organization asks for three times what an edge can take: what is rejected is its own, and the
// few requests of another one are accepted.
func TestAnOrganizationThatAsksForTooMuchIsTheOneThatIsRejected(t *testing.T) {
	tr := trial{
		fault: "F16 hot website", point: "3 times the capacity, at the edge", on: kfakeOnly, few: 1, alone: true, once: true,
		body: func(t *testing.T, s *stage) {
			x := s.newTarget(func(f *front) {
				// All come from one address here.
				f.settings[0].Ingest.QueueTime, f.settings[0].Ingest.MaxPerAddr = 100*time.Millisecond, 0
			})
			hot := x.request(x.fixture.WebsiteID, "h")
			other := func(prefix string) func([]byte, int) []byte {
				return x.requestOf(x.fixture.ForeignKey, x.fixture.ForeignWebsiteID, prefix)
			}
			x.warm(hot)
			x.warm(other("v"))
			capacity := x.capacity(x.request(x.fixture.WebsiteID, "c"), 64, brief(5*time.Second))
			greedy := newTally()
			var asking sync.WaitGroup
			ctx, stop := context.WithCancel(t.Context())
			asking.Go(func() {
				l := load{addr: x.addr(), rate: 3 * capacity, wires: 3000, request: hot, heard: greedy.heard}
				l.run(ctx, time.Hour)
			})
			testkit.Eventually(t, patience, func() error { // until it is too much
				if greedy.of(503) == 0 {
					return errNotYet
				}
				return nil
			})
			heard := newTally()
			l := load{addr: x.addr(), rate: capacity / 50, wires: 64, request: other("o"), heard: heard.heard}
			l.run(t.Context(), long(20*time.Second))
			stop()
			asking.Wait()
			t.Logf("who asks for 3 times %d/s: %s; who asks for a fiftieth: %s", capacity, greedy, heard)
			if rejected, all := heard.others(200), heard.others(); rejected*20 > all {
				t.Errorf("%d of the other's %d requests were rejected, want one in twenty at most", rejected, all)
			}
			s.took, s.verdict = heard.quantile(0.99), verdict{partly: true, Acked: len(heard.accepted)}
			x.stop()
		},
	}
	tr.run(t)
}
