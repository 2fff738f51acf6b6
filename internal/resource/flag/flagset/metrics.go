package flagset

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics lists everything this package exports; reads are counted by package readcache besides.
type metrics struct {
	hits, misses, stale                  prometheus.Counter
	read, gone, broken, failed, rejected prometheus.Counter
	behind, changes, evicted, failures   prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, m *Memory) *metrics {
	f := promauto.With(reg)
	m.gauges(f)
	requests := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_flag_sets_requests_total",
		Help: "Requests for a flag set, one per organization. outcome is hit (cached), miss (read from the metadata store) " +
			"or stale (cached, but unconfirmed for more than 6 s).",
	}, []string{"outcome"})
	loads := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_flag_sets_loads_total",
		Help: "Flag sets read from the metadata store, one per organization. outcome is loaded, gone (the organization is " +
			"deleted), broken (the flags cannot be evaluated), failed or refused (too many reads at the same time).",
	}, []string{"outcome"})
	return &metrics{
		hits: requests.WithLabelValues("hit"), misses: requests.WithLabelValues("miss"),
		stale: requests.WithLabelValues("stale"),
		read:  loads.WithLabelValues("loaded"), gone: loads.WithLabelValues("gone"),
		broken: loads.WithLabelValues("broken"),
		failed: loads.WithLabelValues("failed"), rejected: loads.WithLabelValues("refused"),
		behind: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_flag_sets_behind_total",
			Help: "Flag sets read from the metadata store that were older than a received change event. They are read again.",
		}),
		changes: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_flag_sets_changes_total",
			Help: "Change events of flags and of deleted organizations received through control.v1.",
		}),
		evicted: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_flag_sets_evicted_total",
			Help: "Flag sets evicted because flags.memory is full.",
		}),
		failures: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_flag_sets_compare_failures_total",
			Help: "Failed comparisons of the cached flags with the metadata store. They are retried every second.",
		}),
	}
}

// gauges are what is held.
func (m *Memory) gauges(f promauto.Factory) {
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_flag_sets_held", Help: "Organizations whose flags are cached.",
	}, func() float64 { return float64(m.held()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_flag_sets_bytes",
		Help: "Estimated memory of the cached flags, up to flags.memory.",
	}, func() float64 { return float64(m.taken()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_flag_sets_age_seconds",
		Help: "Time since all cached flags were known to be current; the oldest counts. It is a few seconds in normal " +
			"operation. At flags.stale the host stops serving them. 0 while no flags are cached.",
	}, func() float64 { return m.oldest().Seconds() })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_flag_sets_waiting",
		Help: "Organizations whose changed flags wait to be read again. The number stays high while the metadata store is " +
			"down.",
	}, func() float64 { return float64(m.again.Len()) })
}

func (m *Memory) held() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.order.Len()
}

func (m *Memory) taken() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes
}

// oldest is the greatest age of what is held.
func (m *Memory) oldest() (most time.Duration) {
	for e := range m.index.all() {
		most = max(most, m.age(e.is.Load()))
	}
	return most
}

// found counts a response from what is held, which was right an age ago.
func (m *metrics) found(age time.Duration) {
	if age > currentFor {
		m.stale.Inc()
		return
	}
	m.hits.Inc()
}

func (m *metrics) loaded(err error) {
	switch {
	case err == nil:
		m.read.Inc()
	case isGone(err):
		m.gone.Inc()
	case isBroken(err):
		m.broken.Inc()
	default:
		m.failed.Inc()
	}
}
