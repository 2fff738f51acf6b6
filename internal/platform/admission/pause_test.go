package admission

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestThePauseGrowsWhileMoreIsRejectedThanDoneAndShrinksOtherwise(t *testing.T) {
	t.Parallel()
	const look = 100 * time.Millisecond
	for name, c := range map[string]struct {
		now            time.Duration
		rejected, done int64
		want           time.Duration
	}{
		"none, and more is rejected":          {0, 101, 100, shortestPause},
		"more is rejected":                    {40 * time.Millisecond, 101, 100, 60 * time.Millisecond},
		"more is rejected, at the longest":    {200 * time.Millisecond, 5000, 0, longestPause},
		"few are rejected, and nothing done":  {40 * time.Millisecond, 100, 0, 40 * time.Millisecond * 2 / 3},
		"as many are rejected":                {40 * time.Millisecond, 200, 200, 40 * time.Millisecond},
		"half as many are rejected":           {60 * time.Millisecond, 200, 400, 40 * time.Millisecond},
		"half as many, after the shortest":    {shortestPause, 200, 400, 0},
		"none, and fewer are rejected":        {0, 200, 400, 0},
		"nothing happens, after the shortest": {shortestPause, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := paused(c.now, c.rejected, c.done, look); got.Round(time.Microsecond) != c.want.Round(time.Microsecond) {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestAGateThatRejectsMuchPausesAndStopsSoonAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, huge, nil)
		go g.Run(t.Context())
		s := &service{g: g, rate: rate}
		s.pass(5*time.Second, 1500) // 500 of them are rejected: few
		if got := g.Pause(); got != 0 {
			t.Errorf("with few rejections the pause is %s", got)
		}
		s.pass(5*time.Second, 5000)
		if got := g.Pause(); got != longestPause {
			t.Errorf("with four rejections for each that is done the pause is %s, want %s", got, longestPause)
		}
		s.pass(time.Second, 500)
		if got := g.Pause(); got != 0 {
			t.Errorf("a second later the pause is %s", got)
		}
		synctest.Wait() // for the look of this moment
		for range 500 {
			g.CountRejection()
		}
		time.Sleep(lookEvery) //nolint:forbidigo // synctest's time
		synctest.Wait()
		if got := g.Pause(); got != shortestPause {
			t.Errorf("after others' rejections the pause is %s, want %s", got, shortestPause)
		}
	})
}
