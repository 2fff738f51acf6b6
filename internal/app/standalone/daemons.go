package standalone

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/app/daemon"
	"github.com/millrace/millrace/internal/app/daemon/limits"
	"github.com/millrace/millrace/internal/app/edge"
	"github.com/millrace/millrace/internal/app/query"
	"github.com/millrace/millrace/internal/app/sink"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// daemons lists what runs, in the order of the start. The stop is the reverse:
// the edge takes no more, and the sink stores what is left. Both hosts count
// their callers together.
var daemons = []struct {
	component string
	parts     func(*ratelimit.Limiter) daemon.Components
}{
	{"sink", func(*ratelimit.Limiter) daemon.Components { return sink.Components }},
	{"query", query.With},
	{"ingest-edge", edge.With},
}

// daemonComponents builds the components of all daemons.
func daemonComponents(
	ctx context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness,
) ([]lifecycle.Component, error) {
	limiter, component, err := limits.Open(s, t, r, true)
	if err != nil {
		return nil, err
	}
	all := []lifecycle.Component{component}
	for _, d := range daemons {
		own, register := share(t, d.component)
		components, err := d.parts(limiter)(ctx, s, own, r)
		if err != nil {
			return nil, err
		}
		for _, p := range components {
			p.Name = d.component + ": " + p.Name
			all = append(all, p)
		}
		register()
	}
	return all, nil
}

// share returns telemetry for one daemon among several. Daemons declare metrics
// of the same names, so each has a registry of its own; register makes it show
// in the shared one, with the daemon's name as a label.
func share(t *telemetry.Telemetry, component string) (own *telemetry.Telemetry, register func()) {
	c := *t
	c.Log = t.Log.With(slog.String("daemon", component))
	c.Registry = prometheus.NewRegistry()
	return &c, func() {
		prometheus.WrapRegistererWith(prometheus.Labels{"component": component}, t.Registry).MustRegister(late{c.Registry})
	}
}

// late is a registry whose metrics may still be declared after it was registered
// in another.
type late struct{ registry *prometheus.Registry }

// Describe tells nothing, which makes the collector unchecked.
func (late) Describe(chan<- *prometheus.Desc) {}

// Collect passes on what the registry holds now.
func (l late) Collect(ch chan<- prometheus.Metric) { l.registry.Collect(ch) }
