package ratelimit_test

import (
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// BenchmarkAdmit measures one decision in memory and the end of its request.
func BenchmarkAdmit(b *testing.B) {
	const callers = 10_000
	generous := func(c *config.Limits) { c.Track, c.Concurrency = 1_000_000, 10_000 }
	for _, bc := range []struct {
		name   string
		kind   ratelimit.Kind
		custom ratelimit.Limit
		change func(*config.Limits)
	}{
		{"a key", ratelimit.Key, ratelimit.Limit{}, generous},
		{"a key with a limit of its own", ratelimit.Key, ratelimit.Limit{Requests: 100_000, Window: time.Minute}, generous},
		{"an address", ratelimit.Client, ratelimit.Limit{}, generous},
		{"a key that is refused", ratelimit.Key, ratelimit.Limit{}, func(c *config.Limits) { c.Track = 1 }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			l := newLimiter(bc.change)
			requests := make([]ratelimit.Request, callers)
			for i := range requests {
				requests[i] = ratelimit.Request{Family: ratelimit.Track, Custom: bc.custom, Who: ratelimit.Identity{
					Kind: bc.kind, ID: "id_" + strconv.Itoa(i), Addr: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}),
				}}
			}
			ctx := b.Context()
			warm := func() {
				for range 64 { // the rings have their size
					for _, r := range requests {
						if lease, err := l.Admit(ctx, r); err == nil {
							lease.Release(ctx)
						}
					}
				}
			}
			warm()
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				if i++; i == callers {
					i = 0
				}
				if lease, err := l.Admit(ctx, requests[i]); err == nil {
					lease.Release(ctx)
				}
			}
		})
	}
}

func TestAdmittingARequestAllocatesNothing(t *testing.T) { //nolint:paralleltest // others would be counted
	l := newLimiter(func(c *config.Limits) { c.Track, c.Concurrency = 1_000_000, 10_000 })
	r := ratelimit.Request{Family: ratelimit.Track, Who: ratelimit.Identity{Kind: ratelimit.Key, ID: "key_1"}}
	admit := func() {
		lease, err := l.Admit(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		lease.Release(t.Context())
	}
	for range 1024 { // the ring grows as requests come, by doubling
		admit()
	}
	if n := testing.AllocsPerRun(100, admit); n != 0 {
		t.Errorf("%g allocations", n)
	}
}
