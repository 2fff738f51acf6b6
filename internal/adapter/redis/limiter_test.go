package redis_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
)

// process is the limiter of one process.
type process struct {
	*ratelimit.Limiter
	metrics *prometheus.Registry
}

// start runs limiters that share the Redis at url, until the test ends.
func start(t *testing.T, url string, timeout time.Duration, n int) []process {
	t.Helper()
	var out []process
	for range n {
		out = append(out, run(t, open(t, url, timeout)))
	}
	return out
}

// run runs one limiter until the test ends.
func run(t *testing.T, shared ratelimit.Shared) process {
	t.Helper()
	reg := prometheus.NewRegistry()
	l := ratelimit.New(config.Default().Limits, ratelimit.Deps{
		Log: testkit.NewLog(t, "limiter").Logger(), Metrics: reg, Shared: shared,
		Salt: func() []byte { return make([]byte, 32) },
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run() = %v", err)
		}
	})
	return process{l, reg}
}

// counted counts what is asked of a server: by requests, and by what finds it back.
type counted struct {
	ratelimit.Shared
	asked, pinged atomic.Int64
}

// Settle implements ratelimit.Shared.
func (c *counted) Settle(ctx context.Context, q ratelimit.Question) (ratelimit.Verdict, error) {
	c.asked.Add(1)
	return c.Shared.Settle(ctx, q)
}

// Release implements ratelimit.Shared.
func (c *counted) Release(ctx context.Context, account, lease string) error {
	c.asked.Add(1)
	return c.Shared.Release(ctx, account, lease)
}

// Ping implements ratelimit.Shared.
func (c *counted) Ping(ctx context.Context) error {
	c.pinged.Add(1)
	return c.Shared.Ping(ctx)
}

// metric reads a counter or a gauge.
func (p process) metric(t *testing.T, name string) float64 {
	t.Helper()
	families, err := p.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue() + f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func byKey(f ratelimit.Family, custom int) ratelimit.Request {
	r := ratelimit.Request{Who: ratelimit.Identity{Kind: ratelimit.Key, ID: "key_1"}, Family: f}
	if custom > 0 {
		r.Custom = ratelimit.Limit{Requests: custom, Window: time.Minute}
	}
	return r
}

// ask sends n requests in turn to each of the processes and returns how many were
// admitted, and the last rejection.
func ask(t *testing.T, processes []process, r ratelimit.Request, n int) (admitted int, rejected *apierr.Error) {
	t.Helper()
	for i := range n {
		lease, err := processes[i%len(processes)].Admit(t.Context(), r)
		if err == nil {
			admitted++
			lease.Release(t.Context())
			continue
		}
		if rejected = apierr.Of(err); rejected.Code != apierr.RateLimited {
			t.Fatal(err)
		}
	}
	return admitted, rejected
}

func TestFiveProcessesAdmitAsMuchAsOne(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		steps []struct {
			family          ratelimit.Family
			custom, n, want int
			limit           int // that the last rejection tells
		}
	}{
		{"a key's own limit is over both hosts", []struct {
			family          ratelimit.Family
			custom, n, want int
			limit           int
		}{
			{ratelimit.Track, 300, 200, 200, 0},
			{ratelimit.Query, 300, 100, 100, 0},
			{ratelimit.Track, 300, 5, 0, 300},
			{ratelimit.Query, 300, 5, 0, 300},
		}},
		{"a higher one does not lift a family's", []struct {
			family          ratelimit.Family
			custom, n, want int
			limit           int
		}{
			{ratelimit.Track, 5000, 605, 600, 600}, {ratelimit.Query, 5000, 125, 120, 120}, {ratelimit.Compile, 5000, 10, 10, 0},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			processes := start(t, services.Redis(t), patient, 5)
			for i, s := range tc.steps {
				got, rejected := ask(t, processes, byKey(s.family, s.custom), s.n)
				if got != s.want || s.limit > 0 && rejected.Rate.Limit != s.limit {
					t.Errorf("step %d: %d of %d were admitted, want %d; %+v", i, got, s.n, s.want, rejected)
				}
			}
		})
	}
}

func TestManyAtOnceGetExactlyTheLimit(t *testing.T) {
	t.Parallel()
	processes := start(t, services.Redis(t), patient, 5)
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for i := range 15 { // fewer than may be under way
		wg.Go(func() {
			for range 60 {
				lease, err := processes[i%5].Admit(t.Context(), byKey(ratelimit.Track, 300))
				if err == nil {
					admitted.Add(1)
					lease.Release(t.Context())
				}
			}
		})
	}
	wg.Wait()
	if got := admitted.Load(); got != 300 {
		t.Errorf("%d of 900 were admitted, want 300", got)
	}
}

func TestTwentyAreUnderWayAnywhere(t *testing.T) {
	t.Parallel()
	processes := start(t, services.Redis(t), patient, 5)
	var leases []ratelimit.Lease
	for i := range 20 {
		lease, err := processes[i%5].Admit(t.Context(), byKey(ratelimit.Track, 0))
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, lease)
	}
	for i, p := range processes {
		_, err := p.Admit(t.Context(), byKey(ratelimit.Query, 0))
		if f := apierr.Of(err); f == nil || f.Message != "Too many concurrent API key requests" || f.Rate.Limit != 20 {
			t.Errorf("the 21st, at process %d: %v", i, err)
		}
	}
	leases[3].Release(t.Context())
	if got, _ := ask(t, processes[:1], byKey(ratelimit.Query, 0), 1); got != 1 {
		t.Error("a place given back at one process is not free at another")
	}
}

func TestWhoIsRejectedAsksRedisNoMore(t *testing.T) {
	t.Parallel()
	url := services.Own(t, services.KindRedis).Redis(t)
	processes, c := start(t, url, patient, 2), client(t, url)
	ask(t, processes[:1], byKey(ratelimit.Query, 0), 120)
	ask(t, processes[1:], byKey(ratelimit.Query, 0), 1) // learns it from Redis
	if err := c.ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if got, rejected := ask(t, processes, byKey(ratelimit.Query, 0), 200); got != 0 || rejected.RetryAfter <= 0 {
		t.Errorf("%d were admitted, %+v", got, rejected)
	}
	if calls := c.Info(t.Context(), "commandstats").String(); strings.Contains(calls, "cmdstat_evalsha") {
		t.Errorf("refused requests were asked about: %s", calls)
	}
}

func TestEachProcessGoesOnWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	server := services.Own(t, services.KindRedis)
	processes := start(t, server.Redis(t), patient, 2)
	ask(t, processes, byKey(ratelimit.Query, 0), 40)
	server.Kill(t)

	// Each admits its limit less what it has admitted itself before.
	for i, p := range processes {
		if got, rejected := ask(t, processes[i:i+1], byKey(ratelimit.Query, 0), 130); got != 100 ||
			rejected.Rate.Limit != 120 {
			t.Errorf("process %d admits %d, want 100: %v", i, got, rejected)
		}
		if p.metric(t, "millrace_limits_shared") != 0 ||
			p.metric(t, "millrace_limits_local_total") < 100 || p.Detail() == "" {
			t.Errorf("process %d does not tell that Redis is away: %q", i, p.Detail())
		}
	}

	server.Start(t)
	testkit.Eventually(t, 30*time.Second, func() error {
		for _, p := range processes {
			if d := p.Detail(); d != "" {
				return &apierr.Error{Message: d}
			}
		}
		return nil
	})
	if got, _ := ask(t, processes, byKey(ratelimit.Compile, 0), 310); got != 300 {
		t.Errorf("together again they admit %d, want 300", got)
	}
}

func TestNoRequestWaitsForARedisThatSaysNothing(t *testing.T) {
	t.Parallel()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close() // nobody ever accepts
	shared := &counted{Shared: open(t, "redis://"+ln.Addr().String(), 100*time.Millisecond)}
	p := run(t, shared)
	admitted := 0
	admit := func() {
		t.Helper()
		r := byKey(ratelimit.Query, 0) // which has a slot to give back
		admitted++
		r.Who.ID = strconv.Itoa(admitted) // none of which is rejected for its own sake
		lease, err := p.Admit(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		lease.Release(t.Context())
	}
	for range 1000 {
		admit()
	}
	// Nor does one that comes while the server is looked for, or after.
	testkit.Eventually(t, patient, func() error {
		admit()
		if n := shared.pinged.Load(); n < 4 {
			return fmt.Errorf("the server was looked for %d times, want 4", n)
		}
		return nil
	})
	// Only who asks can wait for a response.
	if n := shared.asked.Load(); n != 3 {
		t.Errorf("requests have asked %d times, want the three that found out", n)
	}
}

func TestProbeFindsOutBeforeTheFirstRequest(t *testing.T) {
	t.Parallel()
	p := start(t, "redis://"+testkit.FreeAddr(t), time.Second, 1)[0]
	p.Probe(t.Context())
	if p.Detail() == "" {
		t.Error("a server that is not there is taken for one that is")
	}
	if got, _ := ask(t, []process{p}, byKey(ratelimit.Query, 0), 121); got != 120 {
		t.Errorf("%d were admitted, want 120", got)
	}
}
