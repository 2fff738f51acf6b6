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
		Help: "Event counts that Kafka has not acknowledged yet. Each is of one owner, past minute and outcome.",
	}, func() float64 { return float64(t.waiting.Load()) })
	return metrics{
		published: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_tally_published_counts_total",
			Help: "Event counts that Kafka acknowledged. Each is of one owner, minute and outcome.",
		}),
		failures: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_tally_publish_failures_total",
			Help: "Failed attempts to publish tallies. They stay in memory and are retried.",
		}),
		uncounted: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_tally_uncounted_events_total",
			Help: "Events missing from the tallies, because too many owners were counted at once or the last tallies could " +
				"not be published. The events themselves are unaffected.",
		}),
	}
}
