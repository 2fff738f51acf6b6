package readcache_test

import (
	"context"
	"testing"
	"time"
	"unsafe"

	"github.com/millrace/millrace/internal/platform/readcache"
)

// alias returns a string that shares b's memory, as a server's request buffers
// hand them out.
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func BenchmarkHit(b *testing.B) {
	b.Run("hash", func(b *testing.B) {
		hit(b, [32]byte{1, 2, 3}, func(context.Context, [32]byte) (*int, error) { return new(int), nil })
	})
	b.Run("name", func(b *testing.B) {
		hit(b, "web_01J9ZC5Q3V8M4T2K7R6N0PBXYD", func(context.Context, string) (*int, error) { return new(int), nil })
	})
}

func hit[K readcache.Key](b *testing.B, k K, load func(context.Context, K) (*int, error)) {
	b.Helper()
	c := readcache.New(readcache.Config{}, load, notFound, nil)
	defer c.Close()
	ctx := b.Context()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.Get(ctx, k, time.Now()); err != nil {
				b.Error(err)
			}
		}
	})
}
