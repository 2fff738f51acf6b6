package clickhouse

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/platform/config"
)

// reachable is what this process knows of addresses. All of its connections go by it, so
// that a process reads the versions of its data, and the data, from the same replica
// while that answers: another may be behind.
//
//nolint:gosec // spreads processes over replicas
var reachable = &addresses{home: rand.Uint32(), away: map[string]time.Time{}}

// checkEvery is how often an address that failed is asked whether it answers again.
const checkEvery = 5 * time.Second

// addresses remembers which of several addresses do not answer.
type addresses struct {
	home uint32 // the address that the process prefers, counted from the first

	mu   sync.Mutex
	away map[string]time.Time // those that failed, and when they are asked again
}

// order returns the addresses as they are to be tried: the process's own first, those
// that failed last. It has one that failed asked in the background after a while, so
// that no caller waits for it to fail again.
func (a *addresses) order(cfg config.ClickHouse) []string {
	if len(cfg.Addr) < 2 {
		return cfg.Addr
	}
	first := int(a.home % uint32(len(cfg.Addr)))
	all := slices.Concat(cfg.Addr[first:], cfg.Addr[:first])
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.away) == 0 {
		return all
	}
	var there, away []string
	for _, addr := range all {
		next, failed := a.away[addr]
		if !failed {
			there = append(there, addr)
			continue
		}
		away = append(away, addr)
		if now := time.Now(); now.After(next) {
			a.away[addr] = now.Add(max(checkEvery, 2*cfg.DialTimeout))
			go a.check(cfg, addr)
		}
	}
	return append(there, away...)
}

// check finds out whether an address answers again.
func (a *addresses) check(cfg config.ClickHouse, addr string) {
	c, err := DialAddr(context.Background(), cfg, addr, 1)
	if err != nil {
		a.failed(addr)
		return
	}
	c.Close()
	a.answered(addr)
}

// AddressFailed says that an address does not answer: it is tried last until it does again.
func AddressFailed(addr string) { reachable.failed(addr) }

func (a *addresses) failed(addr string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.away[addr] = time.Now().Add(checkEvery)
}

func (a *addresses) answered(addr string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.away, addr)
}
