package readcache

import (
	"context"
	"hash/maphash"
	"testing"
	"time"
)

// Entries are kept under 64 bits of hash, so two keys may meet in one place. One
// must never get the other's answer: it could be another tenant's key.
func TestKeysOfOneHashDoNotGetEachOthersResults(t *testing.T) {
	t.Parallel()
	c := New(Config{}, func(_ context.Context, k string) (string, error) { return "of " + k, nil },
		func(error) bool { return false }, nil)
	defer c.Close()
	other := &entry[string, string]{key: "other"}
	other.result.Store(&result[string]{value: "of other", readAt: time.Now()})
	c.entries.Set(maphash.Comparable(c.seed, "mine"), other, 1)
	c.entries.Wait()
	if v, err := c.Get(t.Context(), "mine", time.Now()); v != "of mine" || err != nil {
		t.Errorf("Get() = %q, %v, want %q", v, err, "of mine")
	}
}

// A hit costs no garbage: it is on the path of every event.
//
//nolint:paralleltest // counts allocations
func TestHitAllocatesNothing(t *testing.T) {
	c := New(Config{}, func(context.Context, [32]byte) (*int, error) { return new(int), nil },
		func(error) bool { return false }, nil)
	defer c.Close()
	ctx := t.Context()
	if _, err := c.Get(ctx, [32]byte{1}, time.Now()); err != nil {
		t.Fatal(err)
	}
	c.entries.Wait()
	if n := testing.AllocsPerRun(1000, func() { _, _ = c.Get(ctx, [32]byte{1}, time.Now()) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
