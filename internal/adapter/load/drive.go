package load

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"sync"
	"time"
)

// Request is one request of a work.
type Request struct {
	URL    string
	Header http.Header
	Body   []byte
	// Units is how much of the rate it is: its events, or 1.
	Units int
}

// Verdict is what a response says about a request.
type Verdict struct {
	// Accepted is how many of its units were taken.
	Accepted int
	// Failed is how many parts of a good response failed.
	Failed int
}

// Work is what there is to send.
type Work interface {
	// Unit is what is counted, in the plural.
	Unit() string
	// Next returns the next request. One goroutine calls it.
	Next() Request
	// Judge reads the body of a response of status 2xx. It is called by several
	// goroutines.
	Judge(r *Request, body []byte) Verdict
}

// Options say how a work is sent.
type Options struct {
	// Rate is how many units a second are due; above 0.
	Rate float64
	// Duration is for how long requests are due; above 0.
	Duration time.Duration
	// Connections is how many requests may be under way; at least 1.
	Connections int
	// Timeout is how long a response may take.
	Timeout time.Duration
	// Progress gets a line each second; nil for none.
	Progress io.Writer
}

// The bounds of Options.
const (
	MaxRate        = 10_000_000
	MaxConnections = 10_000
	MaxDuration    = 24 * time.Hour
)

// check says what is wrong with the options.
func (o *Options) check() error {
	switch {
	case !(o.Rate > 0 && o.Rate <= MaxRate):
		return fmt.Errorf("--rate is %v; it must be above 0 and at most %d", o.Rate, MaxRate)
	case o.Duration <= 0 || o.Duration > MaxDuration:
		return fmt.Errorf("--duration is %s; it must be above 0 and at most %s", o.Duration, MaxDuration)
	case o.Connections < 1 || o.Connections > MaxConnections:
		return fmt.Errorf("--connections is %d; it must be 1 to %d", o.Connections, MaxConnections)
	case o.Timeout <= 0:
		return fmt.Errorf("--timeout is %s; it must be above 0", o.Timeout)
	}
	return nil
}

// Sender sends one request and returns the response's status and body. Its error means
// that there is no response.
type Sender func(ctx context.Context, r *Request) (status int, body []byte, err error)

// due is a request with the moment at which it is to be sent.
type due struct {
	Request

	at time.Time
}

// run is one run of Drive.
type run struct {
	opts  Options
	work  Work
	send  Sender
	begun time.Time
	tally *tally
	mu    sync.Mutex // of tally
}

// Drive sends the work until its duration is over or ctx ends, and then waits for
// the responses that are under way, at most the timeout. An error is one of opts.
func Drive(ctx context.Context, opts Options, work Work, send Sender) (*Report, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	r := &run{opts: opts, work: work, send: send, begun: time.Now(), tally: newTally()}
	ending, stop := context.WithTimeout(ctx, opts.Duration)
	defer stop()
	queue := make(chan due, opts.Connections)
	var workers sync.WaitGroup
	for range opts.Connections {
		workers.Go(func() {
			for d := range queue {
				r.one(ending, &d)
			}
		})
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		r.tell(ending)
	}()
	last := r.plan(ending, queue)
	workers.Wait()
	ended := time.Now()
	stop()
	<-told
	return r.report(last, ended), nil
}

// plan puts requests into the queue until the duration is over, each with its
// moment, and returns the end of what was due.
func (r *run) plan(ctx context.Context, queue chan<- due) time.Time {
	defer close(queue)
	units := 0
	for {
		at := r.begun.Add(time.Duration(math.Round(float64(units) / r.opts.Rate * float64(time.Second))))
		if at.Sub(r.begun) >= r.opts.Duration {
			return r.begun.Add(r.opts.Duration)
		}
		d := due{r.work.Next(), at}
		units += d.Units
		select {
		case queue <- d:
		case <-ctx.Done():
			// This one, and those behind it until now, found no connection.
			end := earlier(time.Now(), r.begun.Add(r.opts.Duration))
			r.note(func(t *tally) {
				t.unsent += int(math.Max(0,
					(end.Sub(r.begun).Seconds()*r.opts.Rate-float64(units-d.Units))/float64(max(1, d.Units))))
			})
			return end
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// one sends a request when it is due, or not at all when the run ends before.
func (r *run) one(ctx context.Context, d *due) {
	if !wait(ctx, time.Until(d.at)) || time.Since(r.begun) >= r.opts.Duration {
		if !time.Now().Before(d.at) {
			r.note(func(t *tally) { t.unsent++ })
		}
		return
	}
	// What is under way is answered, also when the run ends.
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.opts.Timeout)
	defer cancel()
	sent := time.Now()
	status, body, err := r.send(own, &d.Request)
	now := time.Now()
	var v Verdict
	if err == nil && status/100 == 2 {
		v = r.work.Judge(&d.Request, body)
	}
	r.note(func(t *tally) { t.count(d.Units, v, status, err, now.Sub(d.at), now.Sub(sent)) })
}

// wait reports whether the time has passed before the context ended.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (r *run) note(do func(*tally)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do(r.tally)
}

// tell writes a line each second.
func (r *run) tell(ctx context.Context) {
	if r.opts.Progress == nil {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			var line string
			r.note(func(t *tally) { line = t.progress(r.work.Unit(), time.Since(r.begun)) })
			_, _ = fmt.Fprintln(r.opts.Progress, line) // whom nobody reads is not told
		case <-ctx.Done():
			return
		}
	}
}
