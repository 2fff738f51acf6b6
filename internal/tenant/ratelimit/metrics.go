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
		Help: "Requests answered 429 by family of routes. reason is rate or concurrency.",
	}, []string{"family", "reason"})
	m := &metrics{
		accounts: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_limits_callers", Help: "Callers with a request count in memory.",
		}),
		evicted: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_limits_callers_forgotten_total",
			Help: "Callers forgotten for lack of memory while their requests still counted. limits.memory sets the memory.",
		}),
		local: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_limits_local_total",
			Help: "Requests admitted by this process alone because Redis did not answer. The sum over all processes bounds " +
				"the requests that callers made beyond their limits.",
		}),
		up: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_limits_shared", Help: "1 while processes count requests together in Redis, 0 while each process " +
				"counts on its own.",
		}),
		seconds: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "millrace_limits_settle_duration_seconds",
			Help:    "Duration of one Redis call about a request, including failures.",
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
