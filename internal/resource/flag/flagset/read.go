package flagset

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// Times of a store that answers with something older than is known.
const (
	firstPause = 50 * time.Millisecond // before it is asked again; each one is twice as long
	// lagsFor is how long a replica may lag. A store that says something older for longer was
	// put back to an earlier state.
	lagsFor = 5 * time.Second
)

var (
	errBehind = errors.New("the store is older than a version that was already read")
	errBroken = errors.New("the flags cannot be evaluated")
)

func isBroken(err error) bool { return errors.Is(err, errBroken) }

// beginning is what was when a reading began.
type beginning struct {
	at    time.Duration
	ended int64
}

func (m *Memory) begin() beginning {
	m.mu.Lock()
	defer m.mu.Unlock()
	return beginning{m.now(), m.ended}
}

// read returns a set that is not held, when it is its turn. One of an organization that is gone
// is empty.
func (m *Memory) read(ctx context.Context, id string) (*Set, error) {
	set, err := m.reads.Join(ctx, id, func(ctx context.Context) (*Set, error) {
		leave, err := m.reads.Enter(ctx)
		if err != nil {
			m.metrics.rejected.Inc()
			return nil, err
		}
		defer leave()
		return m.fetch(ctx, id)
	})
	if isGone(err) {
		return New(id, Mark{}, nil, nil)
	}
	return set, err
}

// fetch reads a set, again where it is older than what was heard of meanwhile, and holds it. Each
// time is one statement, which sends what the store has otherwise than what is held: a replica that
// lags costs six of them in the two seconds of a read, and after retryPause again as many, until
// lagsFor is over and it is believed.
func (m *Memory) fetch(ctx context.Context, id string) (*Set, error) {
	for wait := time.Duration(0); ; wait = max(firstPause, 2*wait) {
		if !pause(ctx, wait) {
			return nil, errBehind
		}
		began := m.begin()
		set, err := m.load(ctx, id)
		m.metrics.loaded(err)
		if isGone(err) {
			m.drop(id)
		}
		if err != nil {
			return nil, err
		}
		if m.keep(set, began) {
			return set, nil
		}
		m.metrics.behind.Inc()
	}
}

func (m *Memory) load(ctx context.Context, id string) (set *Set, err error) {
	var c *Contents
	held := m.peek(id)
	_, err = m.reads.Ask(func() (*Set, error) {
		c, err = m.deps.Store.FlagSet(ctx, id, held)
		return nil, err
	})
	if err != nil {
		return nil, err
	}
	// What is wrong with one organization's flags is no reason to spare the store.
	if set, err = Renew(held, id, c.Mark, c.Flags, c.Segments); err != nil {
		m.noteBroken(ctx, err)
		return nil, errors.Join(errBroken, err)
	}
	return set, nil
}

// noteBroken logs once what is wrong with a set.
func (m *Memory) noteBroken(ctx context.Context, err error) {
	m.mu.Lock()
	said := m.broken == err.Error()
	m.broken = err.Error()
	m.mu.Unlock()
	if !said {
		m.deps.Log.LogAttrs(ctx, slog.LevelError,
			"flags of an organization are invalid, serving stale entries",
			slog.Duration("max_age", m.cfg.Stale), slog.Any("error", err))
	}
}

// keep holds a set that was read, unless it is older than what is known, or an organization
// ended meanwhile.
func (m *Memory) keep(set *Set, began beginning) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended != began.ended || m.isBehind(set, began.at) {
		return false
	}
	m.hold(set, began.at)
	m.tell(set.OrganizationID)
	return true
}

// isBehind reports whether a set is older than the one that is held, or than one that was heard
// of, and the store has not said so for long. The caller has mu.
func (m *Memory) isBehind(set *Set, began time.Duration) bool {
	id := set.OrganizationID
	least := m.lowWatermarks.of[id]
	if e := m.index.find(id); e != nil && least.mark.Before(e.is.Load().set.Mark) {
		least.mark = e.is.Load().set.Mark
	}
	if !set.Mark.Before(least.mark) {
		m.lowWatermarks.met(id)
		return false
	}
	if least.behind && began-least.since >= lagsFor {
		m.lowWatermarks.put(id, lowWatermark{mark: set.Mark})
		return false
	}
	if !least.behind {
		least.behind, least.since = true, began
	}
	m.lowWatermarks.put(id, least)
	return true
}

// pause waits, and reports whether that was to its end.
func pause(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
