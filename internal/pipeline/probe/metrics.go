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
		Help: "Interval of the probe (probe.interval). The alerts on the probe wait for longer than that.",
	}).Set(interval.Seconds())
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_probe_active",
		Help: "1 on the one process that runs the probe while probe.interval is not 0.",
	}, func() float64 {
		if held() {
			return 1
		}
		return 0
	})
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_probe_end_to_end_last_seconds",
		Help: "Time from sending the last probe event until a query counted it, or the wait for the current one if that is " +
			"longer. 0 on a process that does not run the probe.",
	}, func() float64 { return last().Seconds() })
	m := metrics{
		attempts: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_probe_attempts_total",
			Help: "Probes by outcome: seen, not_seen (accepted but not counted within two minutes), not_sent (the edge did " +
				"not accept the event), not_asked (the query host did not answer) or no_account (the metadata store did not " +
				"answer).",
		}, []string{"outcome"}),
		seconds: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "millrace_probe_end_to_end_seconds",
			Help:    "Time from sending a probe event until a query counts it.",
			Buckets: []float64{0.5, 1, 2, 5, 10, 20, 30, 60, 120},
		}),
		success: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_probe_last_success_timestamp_seconds",
			Help: "Time of the last successful probe, in Unix seconds. Before the first one it is the time at which this " +
				"process took over the probe; 0 on a process that never ran it.",
		}),
	}
	for _, outcome := range []string{seen, noAccount, notAsked, notSent, notSeen} {
		m.attempts.WithLabelValues(outcome)
	}
	return m
}
