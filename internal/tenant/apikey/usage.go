package apikey

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Use says when a key was last used.
type Use struct {
	KeyID string
	At    time.Time // cut to the minute
}

// UseStore keeps uses; an earlier one never replaces a later one.
type UseStore interface {
	TouchKeys(ctx context.Context, uses []Use) error
}

// Bounds of a Usage.
const (
	MaxUses   = 100_000 // keys remembered between two writes
	useBatch  = 1000    // keys of one statement
	useEvery  = time.Minute
	useFinish = 5 * time.Second // for the last write when Run ends
)

// Usage gathers when keys were last used and writes it once a minute, so that a
// use costs no write. What is not written yet is lost when the process dies:
// LastUsedAt is for people who look for keys that nobody uses, and for expiry
// after days without use. It is safe for concurrent use.
type Usage struct {
	store UseStore
	log   *slog.Logger

	mu   sync.Mutex
	uses map[string]time.Time
}

// NewUsage returns a Usage that writes nothing before Run.
func NewUsage(store UseStore, log *slog.Logger) *Usage {
	return &Usage{store: store, log: log, uses: map[string]time.Time{}}
}

// Touch notes that a key was used at now. It is meant to be called once a minute
// and key, not at every use. A nil Usage notes nothing.
func (u *Usage) Touch(keyID string, now time.Time) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if last, known := u.uses[keyID]; (known || len(u.uses) < MaxUses) && now.After(last) {
		u.uses[keyID] = now.Truncate(time.Minute)
	}
}

// Run writes once a minute until ctx ends, and then once more. While the store
// fails, what is to be written stays.
func (u *Usage) Run(ctx context.Context) error {
	tick := time.NewTicker(useEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			u.try(ctx)
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), useFinish)
			u.try(ctx)
			cancel()
			return nil
		}
	}
}

func (u *Usage) try(ctx context.Context) {
	if err := u.Write(ctx); err != nil {
		u.log.LogAttrs(ctx, slog.LevelWarn, "recording the last use of API keys failed", slog.Any("error", err))
	}
}

// Write writes what was gathered.
func (u *Usage) Write(ctx context.Context) error {
	u.mu.Lock()
	pending := u.uses
	u.uses = map[string]time.Time{}
	u.mu.Unlock()
	all := make([]Use, 0, len(pending))
	for id, at := range pending {
		all = append(all, Use{KeyID: id, At: at})
	}
	for batch := range slices.Chunk(all, useBatch) {
		if err := u.store.TouchKeys(ctx, batch); err != nil {
			u.keep(pending)
			return err
		}
		for _, use := range batch {
			delete(pending, use.KeyID)
		}
	}
	return nil
}

// keep takes back what could not be written.
func (u *Usage) keep(pending map[string]time.Time) {
	for id, at := range pending {
		u.Touch(id, at)
	}
}
