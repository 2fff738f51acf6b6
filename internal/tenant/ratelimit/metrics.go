package ratelimit

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics lists everything this package exports.
type metrics struct {
	rejected [families][2]prometheus.Counter // by window, by concurrency
	accounts prometheus.Gauge
	evicted  prometheus.Counter
	local    prometheus.Counter
	up       prometheus.Gauge
	seconds  prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	rejected := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_limits_refused_total",
		Help: "Requests answered 429, by family of routes; reason is rate or concurrency.",
	}, []string{"family", "reason"})
	m := &metrics{
		accounts: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_limits_callers", Help: "Callers of which the limiter remembers something.",
		}),
		evicted: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_limits_callers_forgotten_total",
			Help: "Callers forgotten for want of memory while their requests still counted; see limits.memory.",
		}),
		local: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_limits_local_total",
			Help: "Requests that this process admitted by itself because Redis did not answer; no other process knows of " +
				"them, so that what callers got beyond their limits, over all processes, is at most the sum.",
		}),
		up: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_limits_shared", Help: "1 while processes limit together through Redis, 0 while each does by itself.",
		}),
		seconds: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "millrace_limits_settle_duration_seconds",
			Help:    "Time of one question to Redis about a request, failures included.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 12), // 0.1 ms to 0.2 s
		}),
	}
	for i, row := range &Families {
		m.rejected[i] = [2]prometheus.Counter{
			rejected.WithLabelValues(row.Name, "rate"), rejected.WithLabelValues(row.Name, "concurrency"),
		}
	}
	return m
}

func (m *metrics) reject(f Family, r *Rejection) {
	reason := 0
	if r.Concurrent {
		reason = 1
	}
	m.rejected[f][reason].Inc()
}

// forgot counts accounts that are gone: those of which nothing counted any more,
// and those that had to go.
func (m *metrics) forgot(idle, evicted int) {
	if idle+evicted > 0 {
		m.accounts.Sub(float64(idle + evicted))
		m.evicted.Add(float64(evicted))
	}
}
