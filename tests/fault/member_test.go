package fault

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/app/daemon"
	"github.com/millrace/millrace/internal/app/edge"
	appsink "github.com/millrace/millrace/internal/app/sink"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/pipeline/sink/sinktest"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// child is a daemon in a process of its own.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin interface{ Close() error }
	lines chan string   // what it says: ready, at …
	ended chan struct{} // closed when it has
	err   error         // of Wait; after ended
}

// spawnSink starts a sink in a process of its own and returns at once.
func (s *stage) spawnSink(o order) *child {
	s.t.Helper()
	o.Role, o.Settings = appsink.Component, s.sinkSettings()
	return s.spawn(o)
}

func (s *stage) spawn(o order) *child {
	s.t.Helper()
	argument, err := json.Marshal(o)
	if err != nil {
		s.t.Fatal(err)
	}
	// It ends by itself or by signals, not with the test's context.
	cmd := exec.CommandContext(context.WithoutCancel(s.t.Context()), os.Args[0], childArgument, string(argument))
	cmd.Stderr = s.log
	cmd.SysProcAttr = dieWithTest()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	c := &child{t: s.t, cmd: cmd, stdin: stdin, lines: make(chan string, 64), ended: make(chan struct{})}
	go func() {
		for sc := bufio.NewScanner(stdout); sc.Scan(); {
			select {
			case c.lines <- sc.Text():
			default: // nobody listens
			}
		}
		c.err = cmd.Wait()
		close(c.ended)
	}()
	s.t.Cleanup(func() {
		if s.t.Failed() {
			cmd.Process.Signal(syscall.SIGQUIT) // its log tells where it stood
			select {
			case <-c.ended:
			case <-time.After(session):
			}
		}
		cmd.Process.Kill()
		<-c.ended
	})
	return c
}

// heard waits until the child says something that begins so.
func (c *child) heard(prefix string) {
	c.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		select {
		case line := <-c.lines:
			if strings.HasPrefix(line, prefix) {
				return
			}
		case <-c.ended:
			c.t.Fatalf("the child ended before it said %q: %v", prefix, c.err)
		case <-limit.C:
			c.t.Fatalf("the child did not say %q within %s", prefix, patience)
		}
	}
}

// killed waits until the child was ended by SIGKILL.
func (c *child) killed() {
	c.t.Helper()
	if err := c.wait(); err == nil {
		c.t.Fatal("the child ended well, and should have been killed")
	}
	if status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		c.t.Fatalf("the child ended with %v, and should have been killed", c.cmd.ProcessState)
	}
}

// stop asks the child to end and expects it to end well.
func (c *child) stop() {
	c.t.Helper()
	c.signal(syscall.SIGTERM)
	if err := c.wait(); err != nil {
		c.t.Errorf("stopping a child: %v", err)
	}
}

func (c *child) signal(sig syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.t.Fatal(err)
	}
}

func (c *child) wait() error {
	c.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-c.ended:
		return c.err
	case <-limit.C:
		c.t.Fatalf("the child still runs after %s", patience)
		return nil
	}
}

// local is a daemon in this process.
type local struct {
	t        *testing.T
	cancel   context.CancelFunc
	ended    chan struct{}
	err      error
	registry *prometheus.Registry
}

// startSink runs a sink in this process and returns when it is ready.
func (s *stage) startSink(w watched) *local {
	s.t.Helper()
	return s.startLocal(appsink.Component, s.sinkSettings(), w.parts)
}

// sinkSettings cuts ranges otherwise for each sink that is started: whoever goes
// on with a plan must not depend on its own settings.
func (s *stage) sinkSettings() config.Settings {
	settings := s.settings
	if settings.Sink.MaxRows == rangeRows {
		settings.Sink.MaxRows = rangeRows/3 + s.rng.IntN(rangeRows)
	}
	return settings
}

// startEdge runs an edge in this process and returns when it is ready.
func (s *stage) startEdge(settings config.Settings) *local {
	s.t.Helper()
	return s.startLocal(edge.Component, settings, edge.Components)
}

func (s *stage) startLocal(component string, settings config.Settings, parts daemon.Components) *local {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	l := &local{t: s.t, cancel: cancel, ended: make(chan struct{})}
	ready := make(chan struct{})
	go func() {
		defer close(l.ended)
		l.err = daemon.Run(ctx, component, settings, s.log, func(
			ctx context.Context, c config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness,
		) ([]lifecycle.Component, error) {
			l.registry = t.Registry
			return parts(ctx, c, t, r)
		}, func() { close(ready) })
	}()
	s.t.Cleanup(func() { cancel(); <-l.ended })
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-ready:
	case <-l.ended:
		s.t.Fatalf("%s ended while starting: %v", component, l.err)
	case <-limit.C:
		s.t.Fatalf("%s is not ready after %s", component, patience)
	}
	return l
}

// stop ends the daemon and expects it to end well.
func (l *local) stop() {
	l.t.Helper()
	l.cancel()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-l.ended:
	case <-limit.C:
		l.t.Fatalf("the daemon still runs after %s", patience)
	}
	if l.err != nil {
		l.t.Errorf("stopping a daemon: %v", l.err)
	}
}

// metric returns the sum of a metric's samples whose labels have the given
// values, as name, value, name, value; 0 when there is none.
func (l *local) metric(name string, labels ...string) float64 {
	l.t.Helper()
	families, err := l.registry.Gather()
	if err != nil {
		l.t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
	samples:
		for _, m := range f.GetMetric() {
			have := map[string]string{}
			for _, p := range m.GetLabel() {
				have[p.GetName()] = p.GetValue()
			}
			for i := 0; i+1 < len(labels); i += 2 {
				if have[labels[i]] != labels[i+1] {
					continue samples
				}
			}
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}

// hold blocks a goroutine at the n-th passage of a point until it is let go.
type hold struct {
	at   sinktest.Failpoint
	nth  int
	once sync.Once

	mu     sync.Mutex
	passed int

	there chan struct{} // receives once, when somebody is held
	free  chan struct{}
}

func newHold(at sinktest.Failpoint, nth int) *hold {
	return &hold{at: at, nth: nth, there: make(chan struct{}, 1), free: make(chan struct{})}
}

// reached is what sinktest.Watch wants.
func (h *hold) reached(at sinktest.Failpoint, _ sink.Partition) {
	if at != h.at {
		return
	}
	h.mu.Lock()
	h.passed++
	mine := h.passed == h.nth
	h.mu.Unlock()
	if mine {
		h.there <- struct{}{}
		<-h.free
	}
}

// wait returns when the hold has caught somebody.
func (h *hold) wait(t *testing.T) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-h.there:
	case <-limit.C:
		t.Fatal(fmt.Errorf("nobody came to %s a %d. time within %s", h.at, h.nth, patience))
	}
}

func (h *hold) release() { h.once.Do(func() { close(h.free) }) }
