package fault

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/app/daemon"
	"github.com/millrace/millrace/internal/app/edge"
	"github.com/millrace/millrace/internal/app/query"
	appsink "github.com/millrace/millrace/internal/app/sink"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/pipeline/sink/sinktest"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// childArgument makes this test binary run one daemon instead of the tests.
const childArgument = "__millrace-fault-child"

// deed is what a child does to itself at a point.
type deed string

const (
	doNothing deed = ""
	doKill    deed = "kill" // SIGKILL
	doStop    deed = "stop" // SIGSTOP, until somebody sends SIGCONT
	doTell    deed = "tell"
)

// order says what a child runs, and when it does what to itself.
type order struct {
	Role     string // sink, ingest-edge or query
	Settings config.Settings
	StoreURL string // Settings.Store.URL does not survive being written down
	RedisURL string // nor does this one
	Deed     deed
	At       sinktest.Failpoint
	Nth      int // passage of the point, over all partitions, 1 is the first
	Locks    locks
	// Alone runs a sink as a process of its own does, with what it tells the collector.
	Alone       bool
	MemoryLimit int64 // as GOMEMLIMIT; 0 for none

	registry prometheus.Gatherer // of the sink that runs
}

// locks are what a test takes away from a sink.
type locks struct{ WithoutPlan, WithoutFence, WithoutWindow, WithoutInsertToken bool }

// watched is a sink without some locks that says where it has got to; nil tells nobody.
type watched struct {
	locks

	reached sinktest.Reached
}

// deps wraps what a sink is made of.
func (w watched) deps(d sink.Deps) sink.Deps {
	if w.WithoutPlan {
		d = sinktest.WithoutPlan(d)
	}
	if w.WithoutInsertToken {
		d = sinktest.WithoutInsertToken(d)
	}
	return sinktest.Watch(d, w.reached)
}

// parts are those of the sink.
func (w watched) parts(
	ctx context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness,
) ([]lifecycle.Component, error) {
	wiring := appsink.Wiring{Deps: w.deps}
	if w.WithoutFence {
		wiring.Fence = sinktest.Unfenced
	}
	if w.WithoutWindow {
		s.Sink.Window = 0
	}
	return appsink.Build(ctx, s, t, r, wiring)
}

// runIfChild runs the daemon of an order and ends the process when this binary
// was started to do so. Its parent reads "ready" and "at <point> <partition>" from
// its output; when its input ends, so does the process.
func runIfChild() {
	if len(os.Args) != 3 || os.Args[1] != childArgument {
		return
	}
	var o order
	if err := json.Unmarshal([]byte(os.Args[2]), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		}
		os.Exit(3) // the parent is gone
	}()
	o.Settings.Store.URL, o.Settings.Redis.URL = config.Secret(o.StoreURL), config.Secret(o.RedisURL)
	if o.MemoryLimit > 0 {
		debug.SetMemoryLimit(o.MemoryLimit)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	var out sync.Mutex
	say := func(format string, args ...any) {
		out.Lock()
		defer out.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	err := daemon.Run(ctx, o.Role, o.Settings, os.Stderr, o.parts(say), func() { say("ready") })
	cancel()
	if err == nil && o.registry != nil {
		err = sayWaits(say, o.registry)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// sayWaits has a sink say, when it has ended, how long its inserts waited for the group.
func sayWaits(say func(string, ...any), r prometheus.Gatherer) error {
	w, err := waitsOf(r)
	if err != nil {
		return err
	}
	text, err := json.Marshal(w)
	if err == nil {
		say("%s%s", waitsSaid, text)
	}
	return err
}

func (o *order) parts(say func(string, ...any)) daemon.Components {
	switch o.Role {
	case edge.Component:
		return edge.Alone
	case query.Component:
		return query.Components
	}
	components := watched{o.Locks, o.reached(say)}.parts
	if o.Alone {
		components = appsink.Alone
	}
	return func(ctx context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness) (
		[]lifecycle.Component, error,
	) {
		o.registry = t.Registry
		return components(ctx, s, t, r)
	}
}

// reached does the deed at the n-th passage of the point in the live topic.
func (o *order) reached(say func(string, ...any)) sinktest.Reached {
	if o.Deed == doNothing {
		return nil
	}
	var passed atomic.Int64
	return func(at sinktest.Failpoint, p sink.Partition) {
		if at != o.At || p.Topic != record.TopicEvents || passed.Add(1) != int64(o.Nth) {
			return
		}
		switch o.Deed {
		case doKill:
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		case doStop:
			say("at %s %d", at, p.Index)
			syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		case doTell:
			say("at %s %d", at, p.Index)
		case doNothing:
		}
	}
}
