// Package daemon is what the main functions of the daemons have in common:
// settings, signals, telemetry, the admin listener, and the exit code.
//
// It promises that a first SIGINT or SIGTERM starts an orderly stop and a second
// one ends the process at once, and that whatever keeps a daemon from running is
// told in one line per problem. It leaves the runtime's own settings
// (GOMEMLIMIT, GOMAXPROCS) to whoever starts the process.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/millrace/millrace/internal/platform/buildinfo"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// Components builds the components of a daemon, in the order in which they start. It opens
// no listener: that is the components' work.
type Components func(ctx context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness) (
	[]lifecycle.Component, error,
)

// demands are what a daemon of its own asks of the settings. Standalone mode fills
// required in.
var demands = map[string]struct{ required, serves []string }{
	"ingest-edge": {[]string{"kafka.brokers", "store.url"}, []string{"ingest.listen", "link.listen"}},
	"sink":        {[]string{"kafka.brokers", "clickhouse.addr"}, nil},
	"query":       {[]string{"kafka.brokers", "clickhouse.addr", "store.url"}, []string{"query.listen"}},
}

// Options returns how the settings of the daemon called component are read: what it
// does not start without. What is no daemon asks for nothing.
func Options(component string) config.Options {
	d := demands[component]
	return config.Options{Name: component, Required: d.required, Serves: d.serves}
}

// Main runs the daemon called component until it is asked to stop, and returns
// the exit code: 0 after a clean stop or an answered question such as --help, 1
// otherwise.
func Main(component string, parts Components) int {
	ctx, cancel := Signals(context.Background(), os.Exit)
	defer cancel()
	p := process{stdout: os.Stdout, stderr: os.Stderr}
	return p.main(ctx, component, parts)
}

// Signals returns a context that ends at the first SIGINT or SIGTERM; at the
// second one exit is called with 1. cancel stops listening for them.
func Signals(ctx context.Context, exit func(code int)) (_ context.Context, cancel context.CancelFunc) {
	received := make(chan os.Signal, 2)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM)
	ctx, stop := watch(ctx, received, exit)
	return ctx, func() {
		signal.Stop(received)
		stop()
	}
}

func watch(parent context.Context, received <-chan os.Signal, exit func(int)) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	ended := make(chan struct{})
	go func() {
		for range 2 {
			select {
			case <-received:
				if ctx.Err() != nil {
					exit(1)
					return
				}
				cancel()
			case <-ended:
				return
			}
		}
	}()
	return ctx, func() {
		cancel()
		close(ended)
	}
}

// process is the world outside as Main sees it; nil args and environ are the
// real ones.
type process struct {
	args, environ  []string
	stdout, stderr io.Writer
}

func (p process) main(ctx context.Context, component string, parts Components) int {
	options := Options(component)
	options.Args, options.Environ, options.Output = p.args, p.environ, p.stdout
	settings, meta, err := config.Load(options)
	if err != nil {
		return p.fail(component, err)
	}
	if meta.Done {
		return 0
	}
	if err := Run(ctx, component, settings, p.stderr, parts, nil); err != nil {
		return p.fail(component, err)
	}
	return 0
}

// fail tells each of the joined problems on a line of its own.
func (p process) fail(component string, err error) int {
	for line := range strings.Lines(err.Error()) {
		_, _ = fmt.Fprintf(p.stderr, "%s: %s\n", component, strings.TrimSuffix(line, "\n")) // nowhere left to tell
	}
	return 1
}

// Run runs a component with settings that were loaded, logging to w, until ctx
// ends or a part of it returns. onReady, which may be nil, is called once when
// everything has started.
func Run(
	ctx context.Context, component string, s config.Settings, w io.Writer, build Components, onReady func(),
) (err error) {
	t, err := telemetry.New(s, component, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close(context.WithoutCancel(ctx))) }()
	readiness := &lifecycle.Readiness{}
	components, err := build(ctx, s, t, readiness)
	if err != nil {
		return err
	}
	t.Log.LogAttrs(ctx, slog.LevelInfo, "starting", slog.String("version", buildinfo.Version()))
	err = lifecycle.Run(ctx, lifecycle.Options{
		Log: t.Log, Readiness: readiness, Delay: s.Shutdown.Delay, Grace: s.Shutdown.Grace,
		OnReady: func() {
			t.Log.LogAttrs(ctx, slog.LevelInfo, "ready")
			if onReady != nil {
				onReady()
			}
		},
	}, append([]lifecycle.Component{telemetry.AdminComponent(s.Admin.Listen, t, readiness)}, components...)...)
	t.Log.LogAttrs(ctx, slog.LevelInfo, "stopped")
	return err
}
