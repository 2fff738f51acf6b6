package admission

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// service finishes claims in the order they came, so many requests a second, as
// Kafka or a processor does; rate may change while it works.
type service struct {
	g        *Gate
	owner    string // of what comes by pass
	rate     float64
	least    time.Duration // that any of them takes, however few there are
	credit   float64
	claims   []*Claim
	rejected int
	longest  time.Duration // between coming and being finished
	came     []time.Time
}

// pass lets a time pass in which so many requests come.
func (s *service) pass(d time.Duration, perSecond int) {
	const step = 10 * time.Millisecond
	for range d / step {
		for range perSecond / 100 {
			c, err := take(s.g, Work, s.owner, "", size)
			if err != nil {
				s.rejected++
				continue
			}
			s.claims, s.came = append(s.claims, c), append(s.came, time.Now())
		}
		time.Sleep(step) //nolint:forbidigo // synctest's time
		ripe := func() bool { return len(s.claims) > 0 && time.Since(s.came[0]) >= s.least }
		for s.credit += s.rate * step.Seconds(); ripe() && s.credit >= 1; s.credit-- {
			s.claims[0].Release(true)
			s.longest = max(s.longest, time.Since(s.came[0]))
			s.claims, s.came = s.claims[1:], s.came[1:]
		}
		if !ripe() {
			s.credit = 0
		}
	}
}

const (
	size = 10_000  // of a request
	rate = 1000    // requests a second that a healthy service finishes
	huge = 1 << 30 // a budget that memory does not fill
	soon = 2 * time.Second
)

func TestNobodyIsRejectedWhileTheServiceKeepsUp(t *testing.T) {
	t.Parallel()
	for name, load := range map[string]func(*service){
		"at nine tenths": func(s *service) { s.pass(5*time.Second, 900) },
		"a burst after a rest, which is worked off in time": func(s *service) {
			s.pass(5*time.Second, 900)
			s.pass(5*time.Second, 0)
			s.pass(300*time.Millisecond, 2000)
		},
		// A look comes ten times a second, and this one just after the burst has begun.
		"a burst just before a look": func(s *service) {
			s.pass(5*time.Second+90*time.Millisecond, 0)
			s.pass(10*time.Millisecond, 20_000)
		},
		// The first requests of an edge wait for its connections.
		"a service that begins late": func(s *service) {
			s.rate = 0
			s.pass(400*time.Millisecond, 500)
			s.rate = rate
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t, huge, nil)
				go g.Run(t.Context())
				s := &service{g: g, rate: rate}
				load(s)
				s.pass(5*time.Second, 500)
				if s.rejected > 0 || s.longest > time.Second {
					t.Errorf("%d were refused, the longest took %s", s.rejected, s.longest)
				}
			})
		})
	}
}

func TestUnderThreefoldLoadWhatIsLetInIsDoneAboutTheTarget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, huge, nil)
		go g.Run(t.Context())
		s := &service{g: g, rate: rate}
		s.pass(5*time.Second, 500)
		s.pass(time.Minute, 3000)
		if s.longest > 2*g.target {
			t.Errorf("the longest took %s, want about %s", s.longest, g.target)
		}
		if done := 60*3000 - s.rejected; done < 58*rate {
			t.Errorf("%d were let in, want about what the service can do: %d", done, 60*rate)
		}
		// And recovers at once.
		s.pass(soon, 500)
		s.rejected = 0
		s.pass(5*time.Second, 900)
		if s.rejected > 0 {
			t.Errorf("%d were refused after the load", s.rejected)
		}
	})
}

// Every request takes some time that is no queue, for instance the processor's turn where
// rejections keep it busy; and one website may hold half of what may be at work. Neither may
// keep the limit low once it is.
func TestALimitThatFellRisesWhileWhatIsLetInWaitsForLessThanTheTarget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, huge, nil)
		go g.Run(t.Context())
		s := &service{g: g, owner: "hot", rate: rate, least: g.target * 3 / 5}
		s.pass(5*time.Second, 500)
		s.rate = 0
		s.pass(5*time.Second, 3000) // nothing is finished, and the limit falls
		s.rate = rate
		s.pass(5*time.Second, 3000)
		s.rejected, s.longest = 0, 0
		s.pass(time.Minute, 3000)
		if done := 60*3000 - s.rejected; done < 50*rate {
			t.Errorf("%d were let in, want nearly what the service can do: %d", done, 60*rate)
		}
		if s.longest > 2*g.target {
			t.Errorf("the longest took %s, want about %s", s.longest, g.target)
		}
	})
}

func TestTheLimitFallsToWhatCanBeFinishedAndRisesOnlyWhereItKeepsSomebodyOut(t *testing.T) {
	t.Parallel()
	const target = time.Second
	for _, tc := range []struct {
		name string
		held int64
		wait time.Duration
		rate float64
		want float64 // where it was 1000
	}{
		{"they wait too long", 1000, 2 * target, 600, 600},
		{"no further at a time than to half", 1000, 10 * target, 100, 500},
		{"nor up while they wait too long", 3000, 2 * target, 1500, 1000},
		{"about as long as they should", 1000, target * 4 / 5, 1250, 1000},
		{"they wait for less", 1000, target * 2 / 3, 1500, 1125},
		{"hardly any less", 1000, target * 7 / 10, 1428, 1000 * 75. / 70},
		{"no further at a time than by a quarter", 1000, target / 10, 10_000, 1250},
		{"nobody waits", 500, 0, 1000, 1250},
		{"one caller has his share", 250, target / 10, 2500, 1250},
		{"it is hardly used", 249, target / 10, 2490, 1000},
	} {
		q := queue{limit: 1000}
		if got := q.next(tc.held, tc.wait, tc.rate, target); math.Abs(got-tc.want) > 1e-3 {
			t.Errorf("%s: %g, want %g", tc.name, got, tc.want)
		}
	}
}

func TestWhileNothingGoesOnOnlyTheLeastLimitIsLetInAndAllAgainSoonAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, huge, nil)
		go g.Run(t.Context())
		s := &service{g: g, rate: rate}
		s.pass(5*time.Second, 500)
		s.rate = 0
		s.pass(10*time.Second, 500)
		if held := g.requests(); held > rate {
			t.Errorf("%d requests are at work, the floor is %d", held, leastLimit)
		}
		if s.rejected < 3000 {
			t.Errorf("%d of 5000 were refused", s.rejected)
		}
		s.rate = rate
		s.pass(soon, 100)
		s.rejected = 0
		s.pass(5*time.Second, 500)
		if s.rejected > 0 {
			t.Errorf("%d were refused after the service came back", s.rejected)
		}
	})
}

func TestAGateWithoutAQueueTimeLooksAtMemoryOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, huge, nil)
		g.target = 0
		go g.Run(t.Context())
		s := &service{g: g, rate: 0}
		s.pass(time.Second, 1500)
		if s.rejected > 0 {
			t.Errorf("%d were refused", s.rejected)
		}
	})
}

func TestALargeRequestThatTakesLongIsNoQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, huge, nil)
		go g.Run(t.Context())
		large, err := take(g, Work, "large", "", huge/2)
		if err != nil {
			t.Fatal(err)
		}
		s := &service{g: g, rate: rate}
		s.pass(20*time.Second, 300)
		if s.rejected > 0 {
			t.Errorf("%d small ones were refused beside it", s.rejected)
		}
		large.Release(true)
	})
}

func TestWhileThereIsAQueueWhoMakesItIsRejectedFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, huge, nil)
		go g.Run(t.Context())
		s := &service{g: g, rate: rate}
		rejected := map[string]int{}
		for range 3000 { // 30 s
			for i := range 30 {
				owner := "hot"
				if i == 0 {
					owner = "other"
				}
				c, err := take(g, Work, owner, "", size)
				if err != nil {
					rejected[owner]++
					continue
				}
				s.claims, s.came = append(s.claims, c), append(s.came, time.Now())
			}
			s.pass(10*time.Millisecond, 0)
		}
		if rejected["other"] > 30 || rejected["hot"] < 30_000 {
			t.Errorf("of 3000 requests of one website and 87000 of another, %v were refused", rejected)
		}
	})
}

// The requests that a greedy caller has at work when the limit falls are many times the limit.
func TestGate_AdmitsASmallCallerWhileALongQueueDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, huge, nil)
		go g.Run(t.Context())
		s := &service{g: g, owner: "hot", rate: 5 * rate}
		s.pass(5*time.Second, 500)
		s.pass(10*time.Millisecond, 25*rate*100) // five seconds of work at once
		s.pass(2*lookEvery, 0)
		if held, limit := g.requests(), g.limit.Load(); held < 20*rate || limit > 6*rate {
			t.Fatalf("%d requests are at work, and the limit is %d", held, limit)
		}
		s.owner, s.rejected = "other", 0
		s.pass(10*time.Second, rate/10)
		if s.rejected > 0 {
			t.Errorf("%d of 1000 requests of the other caller were rejected", s.rejected)
		}
		if extra := g.extra.Load(); extra != 0 {
			t.Errorf("%d requests count as admitted beyond the limit after the queue has drained", extra)
		}
	})
}

func TestARejectedClaimOfAQueueSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, huge, nil)
		go g.Run(t.Context())
		s := &service{g: g}
		s.pass(4*time.Second, 1000)
		if why, n := rejected(t, g); why != Queue || int(n) != s.rejected || n == 0 {
			t.Errorf("%d were refused, %v of them for %s", s.rejected, n, why)
		}
	})
}
