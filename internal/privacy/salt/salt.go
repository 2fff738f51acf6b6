// Package salt keeps the salts with which processes hash what they must not tell of
// visitors: one for each UTC day, the same for all processes, destroyed after its day.
package salt

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
)

// Store gives the salt of a UTC day: always the same bytes for one day, made
// by whoever asks first.
type Store interface {
	Salt(ctx context.Context, day time.Time) ([]byte, error)
	// PruneSalts destroys the salts of the UTC days before that of first.
	PruneSalts(ctx context.Context, first time.Time) error
}

const (
	day = 24 * time.Hour
	// ahead is how long before midnight the next day's salt is read: a store
	// that is away for less than that is not noticed.
	ahead = 6 * time.Hour
	// retry is the pause after a failed read ahead or destruction.
	retry = 30 * time.Second
	// look is how often the clock is looked at: it may have been set meanwhile.
	look = time.Hour
	// timeout bounds one read.
	timeout = 5 * time.Second
	// again is how long a read that failed stands for those that would follow it.
	again = time.Second
	// retryAfter is what callers are told while a salt cannot be read.
	retryAfter = 5 * time.Second
)

// Salts keeps the salts of today and, from some hours before midnight, of
// tomorrow. event.SaltGrace after midnight it forgets yesterday's, and has the
// store destroy it; every edge does, so one that is up is enough. It is safe for
// concurrent use.
type Salts struct {
	store Store
	log   *slog.Logger
	now   func() time.Time

	asking chan struct{}           // holds one while the store is asked, so that a midnight costs one read
	failed failure                 // of whoever asks
	mu     sync.Mutex              // held while known is replaced
	known  atomic.Pointer[[]dated] // never changed, only replaced; newest day first
}

// failure is a read that failed. Where the store does not answer, each of those that wait would
// take as long.
type failure struct {
	day   int64
	err   error
	until time.Time
}

// kept is yesterday, today and tomorrow: around midnight all are asked for.
const kept = 3

type dated struct {
	day  int64 // since 1970
	salt []byte
}

// New returns an empty Salts; now nil means time.Now.
func New(store Store, log *slog.Logger, now func() time.Time) *Salts {
	if now == nil {
		now = time.Now
	}
	return &Salts{store: store, log: log, now: now, asking: make(chan struct{}, 1)}
}

// At returns the salt of the UTC day of t, or a ServiceUnavailable error when it
// is not known yet and the store cannot be asked. It must not be changed.
func (s *Salts) At(ctx context.Context, t time.Time) ([]byte, error) {
	n := dayOf(t)
	if salt := s.find(n); salt != nil {
		return salt, nil
	}
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		return nil, unavailable(ctx.Err())
	}
	if salt := s.find(n); salt != nil {
		return salt, nil
	}
	if s.failed.day == n && time.Now().Before(s.failed.until) {
		return nil, unavailable(s.failed.err)
	}
	asked, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	salt, err := s.store.Salt(asked, t.UTC())
	if err != nil {
		if ctx.Err() == nil {
			s.failed = failure{n, err, time.Now().Add(again)}
		}
		return nil, unavailable(err)
	}
	s.add(dated{day: n, salt: salt})
	return salt, nil
}

func unavailable(err error) error {
	return &apierr.Error{Code: apierr.ServiceUnavailable, RetryAfter: retryAfter, Err: err}
}

// Today returns the salt of this UTC day, or nil when it is not known yet: it asks
// nobody, so that it is for those who can do without one. Run comes to know it.
func (s *Salts) Today() []byte { return s.find(dayOf(s.now())) }

// Known is Today for the UTC day of t.
func (s *Salts) Known(t time.Time) []byte { return s.find(dayOf(t)) }

func (s *Salts) find(n int64) []byte {
	known := s.known.Load()
	if known == nil {
		return nil
	}
	for _, d := range *known {
		if d.day == n {
			return d.salt
		}
	}
	return nil
}

func (s *Salts) add(d dated) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := []dated{d}
	if old := s.known.Load(); old != nil {
		known = append(known, *old...)
	}
	slices.SortFunc(known, func(a, b dated) int { return cmp.Compare(b.day, a.day) })
	known = known[:min(len(known), kept)]
	s.known.Store(&known)
}

// forget drops the salts of the days before first. What hashes with one at this
// moment still may.
func (s *Salts) forget(first int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.known.Load()
	if old == nil {
		return
	}
	known := slices.DeleteFunc(slices.Clone(*old), func(d dated) bool { return d.day < first })
	s.known.Store(&known)
}

// Run reads salts ahead of their day, and destroys them after it, until ctx ends.
func (s *Salts) Run(ctx context.Context) error {
	for {
		timer := time.NewTimer(min(s.readAhead(ctx), s.destroy(ctx), look))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// destroy ends the salts of the days that are over, and returns when to look
// again.
func (s *Salts) destroy(ctx context.Context) time.Duration {
	first := s.now().UTC().Add(-event.SaltGrace)
	s.forget(dayOf(first))
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := s.store.PruneSalts(ctx, first); err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "deleting visitor salts of past days failed", slog.Any("error", err))
		return retry
	}
	return first.Truncate(day).Add(day).Sub(first)
}

// readAhead reads what should be known by now and returns when to look again.
func (s *Salts) readAhead(ctx context.Context) time.Duration {
	now := s.now().UTC()
	if _, err := s.At(ctx, now); err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "reading today's visitor salt failed", slog.Any("error", err))
		return retry
	}
	midnight := now.Truncate(day).Add(day)
	if wait := midnight.Sub(now) - ahead; wait > 0 {
		return wait
	}
	if _, err := s.At(ctx, midnight); err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "reading tomorrow's visitor salt failed", slog.Any("error", err))
		return retry
	}
	return midnight.Sub(now)
}

func dayOf(t time.Time) int64 { return int64(record.Day(t.UnixMilli())) }
