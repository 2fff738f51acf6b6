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
		Help: "Organizations' flags that were asked for; outcome is hit (held), miss (asked of the metadata store) " +
			"or stale (held, and not known to be right for more than 6 s).",
	}, []string{"outcome"})
	loads := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_flag_sets_loads_total",
		Help: "Organizations' flags that were read from the metadata store; outcome is loaded, gone (the organization is), " +
			"broken (they cannot be evaluated), failed, or refused (too many at a time).",
	}, []string{"outcome"})
	return &metrics{
		hits: requests.WithLabelValues("hit"), misses: requests.WithLabelValues("miss"),
		stale: requests.WithLabelValues("stale"),
		read:  loads.WithLabelValues("loaded"), gone: loads.WithLabelValues("gone"),
		broken: loads.WithLabelValues("broken"),
		failed: loads.WithLabelValues("failed"), rejected: loads.WithLabelValues("refused"),
		behind: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_flag_sets_behind_total",
			Help: "Organizations' flags that were read and were older than a change that was heard of; they are read again.",
		}),
		changes: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_flag_sets_changes_total",
			Help: "Changes of flags, and ends of organizations, that control.v1 told of.",
		}),
		evicted: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_flag_sets_evicted_total",
			Help: "Organizations' flags that gave way to others, as more are asked for than fit into flags.memory.",
		}),
		failures: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_flag_sets_compare_failures_total",
			Help: "Comparisons of the flags that are held with the metadata store that failed; they are repeated every second.",
		}),
	}
}

// gauges are what is held.
func (m *Memory) gauges(f promauto.Factory) {
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_flag_sets_held", Help: "Organizations whose flags are held in memory.",
	}, func() float64 { return float64(m.held()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_flag_sets_bytes",
		Help: "About what the flags that are held take in memory; up to flags.memory.",
	}, func() float64 { return float64(m.taken()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_flag_sets_age_seconds",
		Help: "How long ago the flags that are held were all known to be right: the oldest counts; a few seconds while " +
			"changes can be looked for. At flags.stale they answer no more. 0 where none are held.",
	}, func() float64 { return m.oldest().Seconds() })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_flag_sets_waiting",
		Help: "Organizations whose flags have changed and wait to be read again; more than a few for as long as the " +
			"metadata store is away.",
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
