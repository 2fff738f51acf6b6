package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// Times of waiting.
const (
	firstPause = 100 * time.Millisecond
	// longestPause is the longest time between a response and the next question, and so
	// the longest that a server which has come is not noticed.
	longestPause = 5 * time.Second
	// tellAgain is how often the same wait is logged.
	tellAgain = time.Minute
)

var errNoResponse = errors.New("no response yet")

// Server is something that a daemon needs and does not run. Each function's error has
// the reason; nil means that all is well.
type Server struct {
	// Name stands in sentences, such as "the metadata store".
	Name string
	// Reach asks whether the server answers.
	Reach func(ctx context.Context) error
	// Check asks an answering server for what the daemon needs of it; nil means that a
	// response is enough.
	Check func(ctx context.Context) error
	// Unprepared is what errors of Check wrap that an operator's command makes good.
	Unprepared error
	// Hopeless reports whether an error is one that no wait makes good.
	Hopeless func(err error) bool

	spared bool
}

// Answering is a server of which a response is enough: for whoever prepares it.
func (s Server) Answering() Server {
	s.Check = nil
	return s
}

// Spared is a server without which the daemon starts: it is asked once whether it
// answers, and only what no wait makes good ends the start.
func (s Server) Spared() Server {
	s.spared = true
	return s.Answering()
}

// ask reports why the server cannot be used.
func (s Server) ask(ctx context.Context) error {
	err := s.Reach(ctx)
	switch {
	case err != nil && s.spared && !s.Hopeless(err):
		return nil
	case err != nil || s.Check == nil:
		return err
	}
	return s.Check(ctx)
}

// WaitComponent is the component of a daemon that starts when all servers can be used. The order
// in which things are started does not matter then: a server that is away is asked
// again until it answers, and so is one that is still to be prepared. Meanwhile the
// readiness names each that is waited for, with the reason, and the log tells of it
// when the wait begins, when its reason becomes another one, and once a minute.
func WaitComponent(log *slog.Logger, r *Readiness, servers ...Server) Component {
	return Component{
		Name: "servers", Start: func(ctx context.Context) error { return AwaitServers(ctx, log, r, servers...) },
	}
}

// AwaitServers returns nil as soon as all servers can be used. It asks them at the same
// time, and ends with the first that will never be usable.
func AwaitServers(ctx context.Context, log *slog.Logger, r *Readiness, servers ...Server) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var wg sync.WaitGroup
	for _, s := range servers {
		r.Waiting(s.Name, errNoResponse)
	}
	for _, s := range servers {
		wg.Go(func() {
			w := wait{server: s, log: log, readiness: r, began: time.Now()}
			if err := w.until(ctx); err != nil {
				end(err)
				return
			}
			r.Waiting(s.Name, nil)
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// wait is the wait for one server.
type wait struct {
	server    Server
	log       *slog.Logger
	readiness *Readiness

	began      time.Time
	told       time.Time // when the log was last told; zero when it was not
	unprepared bool      // what it was told
}

// until returns nil when the server can be used, and an error when it never will be
// or ctx has ended.
func (w *wait) until(ctx context.Context) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := w.server.ask(ctx)
		switch {
		case err == nil:
			w.over(ctx)
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case w.server.Hopeless(err):
			return fmt.Errorf("%s: %w", w.server.Name, err)
		}
		w.readiness.Waiting(w.server.Name, err)
		w.tell(ctx, err)
		select {
		case <-time.After(time.Duration(float64(pause) * (0.8 + 0.2*rand.Float64()))): //nolint:gosec // jitter
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tell logs why it is waited, unless it did so a moment ago.
func (w *wait) tell(ctx context.Context, err error) {
	unprepared, now := errors.Is(err, w.server.Unprepared), time.Now()
	if !w.told.IsZero() && unprepared == w.unprepared && now.Sub(w.told) < tellAgain {
		return
	}
	w.told, w.unprepared = now, unprepared
	w.log.LogAttrs(ctx, slog.LevelWarn, "server unavailable, waiting", slog.String("server", w.server.Name),
		slog.Any("error", err), slog.Duration("waited", now.Sub(w.began).Round(time.Second)))
}

// over logs the end of a wait that was logged.
func (w *wait) over(ctx context.Context) {
	if !w.told.IsZero() {
		w.log.LogAttrs(ctx, slog.LevelInfo, "server available", slog.String("server", w.server.Name),
			slog.Duration("after", time.Since(w.began).Round(time.Millisecond)))
	}
}
