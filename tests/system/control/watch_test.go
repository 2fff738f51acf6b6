package control_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// watch asks every host again and again with a key and a website that it knows,
// until end is called. Every response but 200 fails the test.
func (s *stage) watch(t *testing.T) (end func()) {
	t.Helper()
	s.holds(t, "the watcher's key", s.known)
	for _, h := range s.hosts {
		s.expectStatus(t, h, s.known, http.StatusOK)
	}
	stop := make(chan struct{})
	var watchers sync.WaitGroup
	for _, h := range s.hosts {
		watchers.Go(func() {
			asked, rejected := 0, map[string]int{}
			for tick := time.NewTicker(pause); ; asked++ {
				select {
				case <-tick.C:
				case <-stop:
					tick.Stop()
					if asked == 0 || len(rejected) > 0 {
						t.Errorf("%s, asked %d times by somebody it knows: %v", h.name, asked, rejected)
					}
					return
				}
				if a, err := h.ask(t.Context(), s.known, s.websiteID); err != nil || a.Status != http.StatusOK {
					rejected[fmt.Sprintf("%d %s %v", a.Status, a.Body, err)]++
				}
			}
		})
	}
	return func() {
		close(stop)
		watchers.Wait()
	}
}

// during checks again and again for as long as something is away.
func during(outage time.Duration, check func()) {
	const rest = 2 * time.Second
	for end := time.Now().Add(outage); ; {
		check()
		if time.Now().Add(rest).After(end) {
			<-time.After(time.Until(end))
			return
		}
		<-time.After(rest)
	}
}
