package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// latencyRun is how long a latency is watched: long enough for a p99.9 of some
	// hundred values.
	latencyRun = 5 * time.Second
	// allowedMillis is what a response may take beyond the broker's.
	allowedMillis = 3
	// maxLatency is the largest latency that is told apart.
	maxLatency = time.Minute
)

// openLoop finds a server's peak, then sends half as much to it at fixed moments over as many
// connections, and returns how long responses took. The same is sent to a prototype, after a peak
// of its own: what both wait for is no work of the server's.
func openLoop(ctx context.Context, m *measure, e *surroundings) (result, error) {
	half := job{Role: "open", Batch: m.batch, For: latencyRun, Lines: m.lines()}
	both := make([]result, 2)
	for i, role := range []string{m.role, "prototype"} {
		j := e.job(m)
		j.Role = role
		if i > 0 {
			j.Profile = ""
		}
		var err error
		both[i], err = served(ctx, j, func(server *child) (result, error) {
			peak, err := saturate(ctx, server, m, e.settings)
			if err != nil {
				return result{}, err
			}
			if i == 0 {
				half.Rate = int(peak.Events / peak.Seconds / 2)
			}
			half.Addr = server.Addr
			return loop(ctx, coreAround, half)
		})
		if err != nil {
			return result{}, err
		}
	}
	ours := both[0]
	half.Role, half.Brokers = "roundtrip", e.around.Brokers
	bare, err := loop(ctx, coreMeasured, half)
	ours.Prototype, ours.Broker = both[1].Latency, bare.Latency
	return ours, err
}

// served does something with a server that is there for it alone.
func served(ctx context.Context, j job, do func(*child) (result, error)) (r result, err error) {
	server, err := spawn(ctx, coreMeasured, j)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, server.end()) }()
	return do(server)
}

// latency is what a histogram tells, in milliseconds.
type latency struct{ P50, P99, P999 float64 }

// newHistogram counts microseconds.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, maxLatency.Microseconds(), 3)
}

func latencyOf(micros *hdrhistogram.Histogram) latency {
	millis := func(q float64) float64 { return float64(micros.ValueAtQuantile(q)) / 1000 }
	return latency{millis(50), millis(99), millis(99.9)}
}

// atMoments does something at a rate from as many goroutines as there are
// connections, each at moments of its own, and returns how long each took from the
// moment at which it was to begin.
func (j job) atMoments(
	ctx context.Context, begin func(ctx context.Context) (do func() error, end func(), err error),
) (result, error) {
	var (
		mu    sync.Mutex
		all   = newHistogram()
		fails []error
		wg    sync.WaitGroup
	)
	start := time.Now().Add(100 * time.Millisecond) // when all are connected
	for n := range j.Lines {
		wg.Go(func() {
			own, err := j.atOwnMoments(ctx, start, n, begin)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				fails = append(fails, err)
				return
			}
			all.Merge(own)
		})
	}
	wg.Wait()
	return result{Events: float64(all.TotalCount()), Seconds: time.Since(start).Seconds(), Latency: latencyOf(all)},
		errors.Join(fails...)
}

func (j job) atOwnMoments(
	ctx context.Context, start time.Time, n int, begin func(ctx context.Context) (func() error, func(), error),
) (*hdrhistogram.Histogram, error) {
	do, end, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	own := newHistogram()
	between := time.Duration(j.Lines) * (time.Second / time.Duration(j.Rate))
	for at := start.Add(between * time.Duration(n) / time.Duration(j.Lines)); at.Sub(start) < j.For; at = at.Add(between) {
		time.Sleep(time.Until(at))
		if err := do(); err != nil {
			return nil, err
		}
		if err := own.RecordValue(max(1, time.Since(at).Microseconds())); err != nil {
			return nil, err
		}
	}
	return own, nil
}

// loopOpen sends requests to a server.
func loopOpen(ctx context.Context, j job, say func(result) error) error {
	r, err := j.atMoments(ctx, func(ctx context.Context) (func() error, func(), error) {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", j.Addr)
		if err != nil {
			return nil, nil, err
		}
		request := j.requests()
		length, err := responseLength(conn, request.bytes)
		if err != nil {
			return nil, nil, errors.Join(err, conn.Close())
		}
		response := make([]byte, length)
		return func() error {
			request.next()
			if _, err := conn.Write(request.bytes); err != nil {
				return err
			}
			if _, err := io.ReadFull(conn, response); err != nil {
				return err
			}
			return goodResponse(response)
		}, func() { conn.Close() }, nil
	})
	if err != nil {
		return err
	}
	return say(r)
}

// loopRoundTrip produces one record at a time with a bare client: the limit of B6.
func loopRoundTrip(ctx context.Context, j job, say func(result) error) error {
	client, ready, err := bareProducer(ctx, j)
	if err != nil {
		return err
	}
	defer client.Close()
	r, err := j.atMoments(ctx, func(ctx context.Context) (func() error, func(), error) {
		return func() error {
			record := ready[0]
			return client.ProduceSync(ctx, &record).FirstErr()
		}, func() {}, nil
	})
	if err != nil {
		return err
	}
	return say(r)
}
