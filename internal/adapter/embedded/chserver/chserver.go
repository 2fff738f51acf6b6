package chserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/adapter/embedded/loopback"
)

// The settings that errors name.
const (
	settingListen     = "MILLRACE_EMBEDDED_CLICKHOUSE_LISTEN"
	settingHTTPListen = "MILLRACE_EMBEDDED_CLICKHOUSE_HTTP_LISTEN"
	settingBinary     = "MILLRACE_EMBEDDED_CLICKHOUSE_BINARY"
)

const (
	// lockWait is how long a start waits for the server of a killed process to
	// leave the folder; it takes up to 7 s.
	lockWait = 20 * time.Second
	// portWait covers the moment between a server's end and that of its sockets.
	portWait = 3 * time.Second
	// startWait bounds one start, loading of the tables included.
	startWait = 60 * time.Second
	// stopWait is how long a server may take to stop before it is killed.
	stopWait = 15 * time.Second
	// healthyAfter is the uptime after which a death counts as the first again, and
	// is followed by no pause.
	healthyAfter = 30 * time.Second
	// longestPause is the longest pause before the start of a server that served.
	longestPause = time.Second
	// maxFailures is how many starts that fail in a row end the attempts.
	maxFailures = 5
)

// DiedMessage is in what is logged of each death, for who watches the log of a program
// that embeds the server.
const DiedMessage = "embedded ClickHouse died"

// Config says which server to run, and where.
type Config struct {
	// Listen and HTTPListen are loopback addresses, host:port; port 0 takes a
	// free one.
	Listen, HTTPListen string
	// Dir holds the tables, the generated configuration and the log. It is made
	// when missing.
	Dir string
	// Binary is a clickhouse binary to run; empty looks on PATH.
	Binary string
	// Library is a libchdb file, or a folder that npm installed it into; empty
	// searches the usual places. Set, it goes before a binary on PATH.
	Library string
	// Users are accounts besides the one that may do everything, by name, with what
	// each is granted, such as "SELECT ON *.*". They have no passwords: they are for
	// trying what somebody may do.
	Users map[string][]string
	// Log is told of restarts; required.
	Log *slog.Logger
	// Notify is told of progress, one line for a person at a time; nil means
	// that nobody asks.
	Notify func(line string)

	withoutTerminal bool // as on a machine that has none
}

// Server is a running server. Its methods are safe for concurrent use.
type Server struct {
	cfg    Config
	engine engine
	addr   string
	http   string
	cancel context.CancelFunc
	done   chan struct{} // closed when the supervisor has returned
	failed chan error    // holds the reason once the supervisor has given up

	mu     sync.Mutex
	deaths int
	died   error // the first one
}

// Start runs a server and returns when it answers. It waits up to 20 s for the
// server of a killed predecessor to leave the folder.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Notify == nil {
		cfg.Notify = func(string) {}
	}
	var err error
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return nil, fmt.Errorf("finding the folder of the embedded ClickHouse: %w", err)
	}
	s := &Server{cfg: cfg, done: make(chan struct{}), failed: make(chan error, 1)}
	if s.addr, err = loopback.Resolve(ctx, cfg.Listen, settingListen); err != nil {
		return nil, err
	}
	if s.http, err = loopback.Resolve(ctx, cfg.HTTPListen, settingHTTPListen); err != nil {
		return nil, err
	}
	if s.engine, err = findEngine(cfg); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder of the embedded ClickHouse: %w", err)
	}
	cfg.Notify("starting ClickHouse (" + s.engine.String() + ")")
	child, err := s.start(ctx)
	if err != nil {
		return nil, err
	}
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	go s.supervise(runCtx, child)
	return s, nil
}

// Addr is the address of the native protocol.
func (s *Server) Addr() string { return s.addr }

// HTTPAddr is the address of the HTTP interface.
func (s *Server) HTTPAddr() string { return s.http }

// Failed delivers the reason once the server has died and could not be started
// again, several times in a row.
func (s *Server) Failed() <-chan error { return s.failed }

// Died tells whether the server has ever ended, or begun to, without having been
// asked to by Close: nil, or the first reason, with what its log says. It is complete
// after Close.
func (s *Server) Died() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deaths > 1 {
		return fmt.Errorf("%d times, first: %w", s.deaths, s.died)
	}
	return s.died
}

// note keeps the death of a child.
func (s *Server) note(reason, log string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deaths++; s.died != nil {
		return
	}
	s.died = fmt.Errorf("the embedded ClickHouse died: %s", reason)
	if log != "" {
		s.died = fmt.Errorf("%w; its log says\n%s", s.died, log)
	}
}

// Close stops the server cleanly and waits for its end. It may be called more
// than once.
func (s *Server) Close() error {
	s.cancel()
	<-s.done
	return nil
}

// start runs one child, from the lock to its first response.
func (s *Server) start(ctx context.Context) (*child, error) {
	lock, err := lockFolder(ctx, s.cfg.Dir, lockWait, s.cfg.Notify)
	if err != nil {
		return nil, err
	}
	defer lock.Close() // the child holds it on
	if err := loopback.Free(ctx, s.addr, settingListen, portWait); err != nil {
		return nil, err
	}
	if err := loopback.Free(ctx, s.http, settingHTTPListen, portWait); err != nil {
		return nil, err
	}
	in, of, err := s.takeShelter(ctx)
	if err != nil {
		return nil, err
	}
	args, err := s.engine.args(s.cfg.Dir, s.addr, s.http, s.cfg.Users, of)
	if err != nil {
		return nil, errors.Join(err, in.close())
	}
	c, err := startChild(s.cfg.Dir, args, in, lock)
	if err != nil {
		return nil, err
	}
	if err := s.waitReady(ctx, c); err != nil {
		c.stop(stopWait)
		return nil, err
	}
	return c, nil
}

// waitReady returns when the child answers on both addresses.
func (s *Server) waitReady(ctx context.Context, c *child) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		err := ping(ctx, s.addr, s.http)
		if err == nil {
			return nil
		}
		select {
		case <-c.exited:
			return fmt.Errorf("the embedded ClickHouse could not start: %s", c.lastWords())
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("the embedded ClickHouse does not respond on %s after %s: %w", s.addr, startWait, err)
			}
			return fmt.Errorf("starting the embedded ClickHouse: %w", ctx.Err())
		case <-time.After(pingEvery):
		}
	}
}

// supervise starts the server again whenever it dies, until the context ends or it
// cannot be started any more. How often it dies does not matter once it has served.
func (s *Server) supervise(ctx context.Context, c *child) {
	defer close(s.done)
	soon := 0 // deaths in a row that came soon after the start
	for c != nil {
		began := time.Now()
		select {
		case <-ctx.Done():
			s.noteIfDying(c)
			c.stop(stopWait)
			return
		case <-c.exited:
		}
		if time.Since(began) > healthyAfter {
			soon = 0
		}
		soon++
		reason := c.lastWords()
		_, log := epitaph(c.log.written())
		s.note(reason, log)
		s.cfg.Log.LogAttrs(ctx, slog.LevelError, DiedMessage+", restarting it",
			slog.String("reason", reason), slog.String("log", log), slog.Int("deaths", soon))
		if !pause(ctx, min(backOff(soon), longestPause)) {
			return
		}
		c = s.again(ctx)
	}
}

// noteIfDying keeps the death of a child that is about to be stopped: one that has
// begun to end takes seconds to.
func (s *Server) noteIfDying(c *child) {
	reason, log := epitaph(c.log.written())
	select {
	case <-c.exited:
		s.note(c.lastWords(), log)
	default:
		if log != "" {
			s.note(cmp.Or(reason, "it had begun to end"), log)
		}
	}
}

// again starts the server until it serves. It returns nil when the context has
// ended, or too many starts failed, which Failed then tells.
func (s *Server) again(ctx context.Context) *child {
	for failures := 1; ; failures++ {
		c, err := s.start(ctx)
		switch {
		case err == nil:
			s.cfg.Log.LogAttrs(ctx, slog.LevelWarn, "embedded ClickHouse restarted")
			return c
		case ctx.Err() != nil:
			return nil
		case failures == maxFailures:
			s.failed <- fmt.Errorf("the embedded ClickHouse died, and %d restarts failed: %w", failures, err)
			return nil
		}
		s.cfg.Log.LogAttrs(ctx, slog.LevelError, "embedded ClickHouse restart failed, retrying",
			slog.Any("error", err), slog.Int("failures", failures))
		if !pause(ctx, backOff(failures+1)) {
			return nil
		}
	}
}

// backOff is the pause before a start: none after the first death, then doubling up
// to that of the last start that may fail.
func backOff(deaths int) time.Duration {
	if deaths <= 1 {
		return 0
	}
	return 250 * time.Millisecond << (min(deaths, maxFailures) - 1)
}

// pause waits and reports whether the context still runs.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
