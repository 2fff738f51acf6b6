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
		Name: "millrace_link_cache_entries", Help: "Short links that are held in memory.",
	}, func() float64 { return float64(c.held.Load()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_link_cache_bytes", Help: "About what the short links that are held take in memory.",
	}, func() float64 { return float64(c.bytes.Load()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_link_cache_age_seconds",
		Help: "How long ago the short links that are held were all known to be right; a few seconds while changes can be " +
			"looked for. At a day they answer no more. 0 before they were read for the first time.",
	}, func() float64 {
		if c.right.Load() == never {
			return 0
		}
		return c.age().Seconds()
	})
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_link_cache_changes_waiting",
		Help: "Changed short links that wait to be read again; more than a few for as long as the metadata store is away.",
	}, func() float64 { return float64(c.changed.Len()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_link_cache_domains", Help: "Domains of organizations' own whose short links are served.",
	}, func() float64 { return float64(c.directory.known().Domains()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_link_cache_blocks", Help: "Short links and destination hosts that are known to be blocked.",
	}, func() float64 { return float64(c.directory.known().Blocks()) })
	requests := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_link_cache_requests_total",
		Help: "Short links that were looked up; outcome is hit (held), miss (asked of the metadata store) or stale (held, " +
			"while the metadata store is away; after a miss where it was found to be away).",
	}, []string{"outcome"})
	loads := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_link_cache_loads_total",
		Help: "Short links asked of the metadata store; outcome is found, absent, failed, or refused (too many at a time).",
	}, []string{"outcome"})
	return &metrics{
		hits: requests.WithLabelValues("hit"), misses: requests.WithLabelValues("miss"),
		stale:   requests.WithLabelValues("stale"),
		present: loads.WithLabelValues("found"), absent: loads.WithLabelValues("absent"),
		failed: loads.WithLabelValues("failed"), rejected: loads.WithLabelValues("refused"),
		changes: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_link_cache_changes_total",
			Help: "Changes of short links that were followed, as told by control.v1 and as found in the metadata store.",
		}),
		left: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_link_cache_changes_left_total", Help: "Changed short links that were not read again at once, as " +
				"too many waited; they are when somebody asks for them.",
		}),
		evicted: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_link_cache_evicted_total",
			Help: "Short links that gave way to others, as more are asked for than may be held.",
		}),
		failures: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_link_cache_look_failures_total", Help: "Looks for changes of short links, and readings of all of " +
				"them or of domains and blocks, that failed; they are repeated every second.",
		}),
		fills: f.NewHistogram(prometheus.HistogramOpts{
			Name: "millrace_link_cache_fill_duration_seconds", Help: "Time of reading all short links that may be held.",
			Buckets: prometheus.ExponentialBuckets(0.05, 3, 8), // 50 ms to 2 min
		}),
		open: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_link_cache_breaker_open",
			Help: "1 while short links are not asked of the metadata store because the last reads failed.",
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
