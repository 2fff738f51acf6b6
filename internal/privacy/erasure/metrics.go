package erasure

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics lists what this package counts. Those that tell how things are, are of
// the process that holds the lease; in others they are 0.
type metrics struct {
	open     *prometheus.GaugeVec
	oldest   prometheus.Gauge
	failures prometheus.Counter
	done     *prometheus.CounterVec
	rows     prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	return &metrics{
		open: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "millrace_erasure_open", Help: "Unfinished erasures by state: requested, tombstoned or deleting.",
		}, []string{"state"}),
		oldest: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_erasure_oldest_seconds", Help: "Age of the oldest unfinished erasure; 0 without one.",
		}),
		failures: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_erasure_failures_total",
			Help: "Attempts to continue an erasure that failed or left rows; they are retried.",
		}),
		done: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_erasure_done_total", Help: "Finished erasures by kind: website, profile or visitor.",
		}, []string{"kind"}),
		rows: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_erasure_rows_total", Help: "Rows deleted by finished erasures.",
		}),
	}
}

func (m *metrics) standing(is Standing, now time.Time) {
	for _, s := range States[:len(States)-1] {
		m.open.WithLabelValues(string(s)).Set(float64(is.Open[s]))
	}
	oldest := 0.0
	if !is.Oldest.IsZero() {
		oldest = max(0, now.Sub(is.Oldest).Seconds())
	}
	m.oldest.Set(oldest)
}

func (m *metrics) finished(e *Erasure) {
	m.done.WithLabelValues(string(e.Kind)).Inc()
	for _, n := range e.Deleted {
		m.rows.Add(float64(n))
	}
}
