// Package telemetry makes what a daemon tells about itself: the log, the
// Prometheus registry, the OpenTelemetry tracer, and the private listener that
// serves metrics, health and profiles.
//
// It promises that nothing goes through a process-wide registry or logger, so
// that several daemons and many tests can live in one process, and that telling
// never holds up the work: spans beyond a bounded queue are dropped, and errors
// that repeat are counted instead of written. It refuses to know what the
// daemons measure: each package declares its own metrics on the registry.
package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/millrace/millrace/internal/platform/buildinfo"
	"github.com/millrace/millrace/internal/platform/config"
)

const scope = "github.com/millrace/millrace"

// Telemetry is what every component of a daemon is given. Its fields are never nil
// and safe for concurrent use.
type Telemetry struct {
	Log      *slog.Logger
	Registry *prometheus.Registry
	Tracer   trace.Tracer

	sampler  *sampler
	routes   *routes
	shutdown func(context.Context) error
}

// New returns the telemetry of a component, such as "ingest-edge", that logs to
// w. It opens no connection: the tracer connects when the first span is sent.
func New(cfg config.Settings, component string, w io.Writer) (*Telemetry, error) {
	handler, sampler, err := newHandler(cfg.Log, w)
	if err != nil {
		return nil, err
	}
	t := &Telemetry{
		Log:      slog.New(handler).With(slog.String("component", component)),
		Registry: newRegistry(component),
		sampler:  sampler,
		routes:   &routes{},
	}
	t.Tracer, t.shutdown, err = newTracer(cfg.Trace, component, t.Log)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Discard returns telemetry for tests: it logs nowhere, traces nothing, and has
// a registry of its own.
func Discard() *Telemetry {
	return &Telemetry{
		Log:      slog.New(slog.DiscardHandler),
		Registry: prometheus.NewRegistry(),
		Tracer:   noop.NewTracerProvider().Tracer(scope),
		routes:   &routes{},
		shutdown: func(context.Context) error { return nil },
	}
}

// Close writes the counts of held-back log records and sends the spans in hand,
// until ctx ends. The log can still be used afterwards.
func (t *Telemetry) Close(ctx context.Context) error {
	t.sampler.flush(ctx)
	if err := t.shutdown(ctx); err != nil {
		return fmt.Errorf("sending the last spans: %w", err)
	}
	return nil
}

func newRegistry(component string) *prometheus.Registry {
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "millrace_build_info",
		Help: "Always 1. The labels name the component and its version.",
	}, []string{"component", "version"})
	info.WithLabelValues(component, buildinfo.Version()).Set(1)
	reg := prometheus.NewRegistry()
	reg.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		info,
	)
	return reg
}
