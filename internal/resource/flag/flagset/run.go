package flagset

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Times of comparing what is held with the store. A change that nobody told of is seen after
// the end of trust, or after compareEvery, and the time of a tick, a look and a reading: within
// currentFor.
const (
	tick           = 500 * time.Millisecond
	compareEvery   = 4 * time.Second  // without trust
	compareTrusted = 30 * time.Second // with it
	compareTimeout = 2 * time.Second
	comparePause   = time.Second // after one that failed
	comparedAtOnce = 5000        // sets
	// askedPause is between two looks at sets of which callers heard that they are newer.
	askedPause = 100 * time.Millisecond
)

// Run follows changes until ctx ends.
func (m *Memory) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { m.again.Run(ctx, readTogether, m.readAgain) })
	wg.Go(func() { m.compareAsked(ctx) })
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		if m.due(m.deps.Now()) {
			m.note(ctx, m.compareAll(ctx))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-m.wake:
		}
	}
}

// due reports whether it is time to compare.
func (m *Memory) due(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	since := now.Sub(m.looked)
	switch {
	case m.failing:
		return since >= comparePause
	case m.doubts != m.settled:
		return true
	case now.Before(m.trusted):
		return since >= compareTrusted
	}
	return since >= compareEvery
}

// compareAll has all sets be read again that are not what the store has now.
func (m *Memory) compareAll(ctx context.Context) error {
	m.mu.Lock()
	began, doubts := m.now(), m.doubts
	m.looked = m.deps.Now()
	var ids []string
	for e := range m.index.all() {
		ids = append(ids, e.id)
	}
	m.mu.Unlock()
	for some := range slices.Chunk(ids, comparedAtOnce) {
		if err := m.compare(ctx, some); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settled = doubts
	m.advance(began)
	return nil
}

// compare has those of some sets be read again that are not what the store has now.
func (m *Memory) compare(ctx context.Context, ids []string) error {
	ctx, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	marks, err := m.deps.Store.FlagSetMarks(ctx, ids)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		m.hear(id, marks[id])
		// An older one is that of a store that was put back, or of a replica that lags.
		if e := m.index.find(id); e != nil && e.is.Load().set.Mark != marks[id] {
			m.doubt(id)
		}
	}
	return nil
}

// note logs once that comparing fails, and that it does not any more.
func (m *Memory) note(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	m.mu.Lock()
	was := m.failing
	m.failing = err != nil
	m.mu.Unlock()
	switch {
	case err != nil:
		m.metrics.failures.Inc()
		if !was {
			m.deps.Log.LogAttrs(ctx, slog.LevelWarn,
				"flag cache not refreshed, serving stale entries",
				slog.Duration("max_age", m.cfg.Stale), slog.Any("error", err))
		}
	case was:
		m.deps.Log.LogAttrs(ctx, slog.LevelInfo, "flag cache refreshed again")
	}
}
