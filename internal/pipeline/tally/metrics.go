package tally

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics lists what this package exports.
type metrics struct {
	published prometheus.Counter
	failures  prometheus.Counter
	uncounted prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, t *Tally) metrics {
	f := promauto.With(reg)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_tally_waiting_counts",
		Help: "Counts per owner, minute and outcome that ingestion.v1 has not acknowledged yet, besides those of the " +
			"current minute.",
	}, func() float64 { return float64(t.waiting.Load()) })
	return metrics{
		published: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_tally_published_counts_total",
			Help: "Counts per owner, minute and outcome acknowledged by ingestion.v1.",
		}),
		failures: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_tally_publish_failures_total",
			Help: "Attempts to publish counts that failed; they wait and are tried again.",
		}),
		uncounted: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_tally_uncounted_events_total",
			Help: "Events that no count tells of, because too many owners were counted at a time or the last counts could " +
				"not be published. The events themselves are not affected.",
		}),
	}
}
