package probe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// What becomes of a probe.
const (
	seen      = "seen"
	noAccount = "no_account" // the metadata store did not give a key
	notAsked  = "not_asked"  // the query host did not answer before
	notSent   = "not_sent"   // the edge did not take the event
	notSeen   = "not_seen"   // it took it, and the event was not counted in time
)

type metrics struct {
	attempts *prometheus.CounterVec
	seconds  prometheus.Histogram
	success  prometheus.Gauge
}

func newMetrics(
	reg prometheus.Registerer, interval time.Duration, held func() bool, last func() time.Duration,
) metrics {
	f := promauto.With(reg)
	f.NewGauge(prometheus.GaugeOpts{
		Name: "millrace_probe_interval_seconds",
		Help: "How often an event is sent, probe.interval; the alerts on the probe wait for longer than that.",
	}).Set(interval.Seconds())
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_probe_active",
		Help: "1 on the process that probes; one process of all does, while probe.interval is not 0.",
	}, func() float64 {
		if held() {
			return 1
		}
		return 0
	})
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_probe_end_to_end_last_seconds",
		Help: "How long the last event took from being sent to being counted, or how long the one that is under way has " +
			"been waited for, whichever is more; 0 on a process that does not probe.",
	}, func() float64 { return last().Seconds() })
	m := metrics{
		attempts: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_probe_attempts_total",
			Help: "Probes by outcome: seen, not_seen (accepted, and not counted within two minutes), not_sent (the edge did " +
				"not take it), not_asked (the query host did not answer) or no_account (the metadata store did not).",
		}, []string{"outcome"}),
		seconds: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "millrace_probe_end_to_end_seconds",
			Help:    "Time from sending an event to seeing it counted.",
			Buckets: []float64{0.5, 1, 2, 5, 10, 20, 30, 60, 120},
		}),
		success: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_probe_last_success_timestamp_seconds",
			Help: "When an event of the probe was last seen, in Unix seconds; before the first one when this process began to " +
				"probe, and 0 on one that never did.",
		}),
	}
	for _, outcome := range []string{seen, noAccount, notAsked, notSent, notSeen} {
		m.attempts.WithLabelValues(outcome)
	}
	return m
}
