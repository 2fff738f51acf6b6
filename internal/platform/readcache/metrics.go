package readcache

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics lists everything this package exports. Every metric carries the
// cache's name as label "lookup"; caches of one name, such as those of two
// daemons in one process, count together.
type metrics struct {
	hits, misses, stale, negative prometheus.Counter
	loads, failures               prometheus.Counter
	seconds                       prometheus.Observer
	open                          prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer, name string) metrics {
	reads := shared(reg, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_lookup_requests_total",
		Help: "Cached reads of the metadata store. outcome is hit, negative (known not to exist), stale (served while the " +
			"store fails) or miss.",
	}, []string{"lookup", "outcome"}))
	return metrics{
		hits:     reads.WithLabelValues(name, "hit"),
		misses:   reads.WithLabelValues(name, "miss"),
		stale:    reads.WithLabelValues(name, "stale"),
		negative: reads.WithLabelValues(name, "negative"),
		loads: shared(reg, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_lookup_loads_total", Help: "Reads of the metadata store.",
		}, []string{"lookup"})).WithLabelValues(name),
		failures: shared(reg, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_lookup_load_failures_total",
			Help: "Failed reads of the metadata store. Reading something that does not exist is not a failure.",
		}, []string{"lookup"})).WithLabelValues(name),
		seconds: shared(reg, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "millrace_lookup_load_duration_seconds", Help: "Duration of one read of the metadata store, including " +
				"failures.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 8), // 0.1 ms to 1.6 s
		}, []string{"lookup"})).WithLabelValues(name),
		open: shared(reg, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "millrace_lookup_breaker_open",
			Help: "1 while reads are suspended because the last ones failed. lookup is billing for the external billing " +
				"service.",
		}, []string{"lookup"})).WithLabelValues(name),
	}
}

func (m metrics) breaker(open bool) {
	if open {
		m.open.Set(1)
		return
	}
	m.open.Set(0)
}

// shared registers a collector, or returns the one registered before under the
// same description.
func shared[C prometheus.Collector](reg prometheus.Registerer, c C) C {
	if reg == nil {
		return c
	}
	err := reg.Register(c)
	if before, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if same, ok := before.ExistingCollector.(C); ok {
			return same
		}
	}
	if err != nil {
		panic(err) //nolint:forbidigo // two metrics of one name: a mistake in the code, as with promauto
	}
	return c
}
