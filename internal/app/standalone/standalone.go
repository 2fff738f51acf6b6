// Package standalone runs the whole of millrace in one process: the daemons
// unchanged, over loopback, against embedded backends.
//
// It promises that each backend is swapped for a real one by one setting, that
// whoever starts it is never left wondering (every step that takes time is told
// on a line, whatever goes wrong in one sentence), that the line "millrace ready"
// comes when an event can be sent and queried, and that its folder holds the
// whole state: it survives a stop and a kill -9. Two processes on one folder are
// rejected.
//
// It is for development, demonstrations and data that one can send again; see
// docs/architecture/standalone.md.
package standalone

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/adapter/embedded/chserver"
	"github.com/millrace/millrace/internal/app/daemon"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// Component is the process's name in logs and metrics.
const Component = "standalone"

// Options are what a run needs.
type Options struct {
	Settings config.Settings
	// Stdout receives what a person reads: progress, addresses, commands.
	Stdout io.Writer
	// Stderr receives the log.
	Stderr io.Writer
}

// RunIfChild serves and ends the process when this program was started as the
// embedded ClickHouse; else it returns at once. Call it first in main.
func RunIfChild() { chserver.RunIfChild() }

// linkListen is where short links are served, unless somebody says otherwise.
const linkListen = "127.0.0.1:8082"

// Defaults changes the settings that nobody set to what suits a laptop: a log
// for people, of warnings and errors, and a host of short links.
func Defaults(s config.Settings, meta config.Meta) config.Settings {
	if !meta.IsSet("log.level") {
		s.Log.Level = "warn"
	}
	if !meta.IsSet("log.format") {
		s.Log.Format = "text"
	}
	if !meta.IsSet("link.listen") {
		s.Link.Listen = linkListen
	}
	return s
}

// Run starts everything and returns after a stop. A stop that ctx asked for is
// no error, also during the start.
func Run(ctx context.Context, opts Options) error {
	r := &run{s: opts.Settings, out: &console{w: opts.Stdout}, stderr: opts.Stderr}
	err := r.run(ctx)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil
	}
	if err == nil {
		err = r.out.line("millrace stopped")
	}
	return err
}

// run is one run; its fields are filled on the way.
type run struct {
	s      config.Settings
	out    *console
	stderr io.Writer
	env    devEnv
}

func (r *run) run(ctx context.Context) (err error) {
	folder, err := openFolder(r.s.Data.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	if err := checkAddresses(ctx, r.s); err != nil {
		return err
	}
	log, err := r.embeddedLog()
	if err != nil {
		return err
	}
	backends, err := startBackends(ctx, r.s, folder, log, r.out.notify)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backends.Close()) }()
	r.s = backends.settings

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var untold error
	err = daemon.Run(ctx, Component, r.s, r.stderr,
		func(ctx context.Context, s config.Settings, t *telemetry.Telemetry, readiness *lifecycle.Readiness) (
			[]lifecycle.Component, error,
		) {
			components, err := daemonComponents(ctx, s, t, readiness)
			return slices.Concat([]lifecycle.Component{backends.component(), r.preparation(folder, t.Log, readiness)},
				components, []lifecycle.Component{awaitDaemons(readiness)}), err
		},
		func() {
			if untold = r.ready(folder, backends); untold != nil {
				cancel() // nobody could use what nobody was told of
			}
		},
	)
	return errors.Join(untold, err)
}

// joinTime is the longest wait for daemons that have started to do their work: the
// sink joins its group in the background.
const joinTime = 2 * time.Minute

// awaitDaemons is the component that starts when every daemon can do its work, so that
// ready means just that.
func awaitDaemons(r *lifecycle.Readiness) lifecycle.Component {
	return lifecycle.Component{Name: "readiness", Start: func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, joinTime)
		defer cancel()
		return r.Await(ctx)
	}}
}

// embeddedLog is the log of the embedded servers, which start before the daemons'
// telemetry.
func (r *run) embeddedLog() (*slog.Logger, error) {
	s := r.s
	s.Trace.Endpoint = ""
	t, err := telemetry.New(s, "embedded", r.stderr)
	if err != nil {
		return nil, err
	}
	return t.Log, nil
}

// ready writes dev.env and prints what one does next.
func (r *run) ready(folder *folder, b *backends) error {
	file := folder.path(devEnvFile)
	if err := r.env.write(file); err != nil {
		return err
	}
	return r.out.banner(banner{
		Env: r.env, File: file, Metrics: metricsURL(r.s.Admin.Listen),
		EmbeddedKafka: b.broker != nil, ClickHouseHTTP: b.httpAddr(),
	})
}

// checkAddresses finds out early whether the daemons can listen where they are
// told to; the embedded servers check theirs when they start.
func checkAddresses(ctx context.Context, s config.Settings) error {
	var errs []error
	for _, l := range []struct{ addr, setting string }{
		{s.Query.Listen, "MILLRACE_QUERY_LISTEN"},
		{s.Ingest.Listen, "MILLRACE_INGEST_LISTEN"},
		{s.Link.Listen, "MILLRACE_LINK_LISTEN"},
		{s.Admin.Listen, "MILLRACE_ADMIN_LISTEN"},
	} {
		if l.addr == "" {
			continue
		}
		ln, err := lifecycle.Listen(ctx, l.addr, l.setting)
		if err == nil {
			err = ln.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
