package linkcache

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/internal/resource/link"
)

// metrics lists everything this package exports.
type metrics struct {
	hits, misses, stale               prometheus.Counter
	present, absent, failed, rejected prometheus.Counter
	changes, left, evicted, failures  prometheus.Counter
	fills                             prometheus.Observer
	open                              prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer, c *Cache) *metrics {
	f := promauto.With(reg)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_link_cache_entries", Help: "Short links in the cache.",
	}, func() float64 { return float64(c.held.Load()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_link_cache_bytes", Help: "Estimated memory of the cached short links.",
	}, func() float64 { return float64(c.bytes.Load()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_link_cache_age_seconds",
		Help: "Time since all cached short links were known to be current. It is a few seconds in normal operation. After " +
			"one day the edge stops serving them. 0 before the first read.",
	}, func() float64 {
		if c.right.Load() == never {
			return 0
		}
		return c.age().Seconds()
	})
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_link_cache_changes_waiting",
		Help: "Changed short links that wait to be read again. The number stays high while the metadata store is down.",
	}, func() float64 { return float64(c.changed.Len()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_link_cache_domains", Help: "Custom domains whose short links are served.",
	}, func() float64 { return float64(c.directory.known().Domains()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_link_cache_blocks", Help: "Blocked short links and destination hosts in the cache.",
	}, func() float64 { return float64(c.directory.known().Blocks()) })
	requests := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_link_cache_requests_total",
		Help: "Lookups of short links. outcome is hit (cached), miss (read from the metadata store) or stale (cached, " +
			"while the metadata store is down). A cached link whose read fails counts as a miss and as stale.",
	}, []string{"outcome"})
	loads := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_link_cache_loads_total",
		Help: "Short links read from the metadata store. outcome is found, absent, failed or refused (too many reads at " +
			"the same time).",
	}, []string{"outcome"})
	return &metrics{
		hits: requests.WithLabelValues("hit"), misses: requests.WithLabelValues("miss"),
		stale:   requests.WithLabelValues("stale"),
		present: loads.WithLabelValues("found"), absent: loads.WithLabelValues("absent"),
		failed: loads.WithLabelValues("failed"), rejected: loads.WithLabelValues("refused"),
		changes: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_link_cache_changes_total",
			Help: "Changes of short links applied to the cache, from control.v1 or from the metadata store.",
		}),
		left: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_link_cache_changes_left_total", Help: "Changed short links that were not read again at once " +
				"because too many waited. They are read on demand.",
		}),
		evicted: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_link_cache_evicted_total",
			Help: "Short links evicted because the cache was full.",
		}),
		failures: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_link_cache_look_failures_total", Help: "Failed polls for changes of short links, and failed full " +
				"reads of links, domains or blocks. They are retried every second.",
		}),
		fills: f.NewHistogram(prometheus.HistogramOpts{
			Name: "millrace_link_cache_fill_duration_seconds", Help: "Duration of reading all short links that fit into the " +
				"cache.",
			Buckets: prometheus.ExponentialBuckets(0.05, 3, 8), // 50 ms to 2 min
		}),
		open: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_link_cache_breaker_open",
			Help: "1 while reads of short links from the metadata store are suspended because the last reads failed.",
		}),
	}
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
		m.present.Inc()
	case errors.Is(err, link.ErrNotFound):
		m.absent.Inc()
	default:
		m.failed.Inc()
	}
}

func (m *metrics) breaker(open bool) {
	m.open.Set(0)
	if open {
		m.open.Set(1)
	}
}
