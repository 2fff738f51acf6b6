package analytics

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics lists everything this package exports.
type metrics struct {
	seconds  *prometheus.HistogramVec
	failures *prometheus.CounterVec
	rows     *prometheus.CounterVec

	versionless prometheus.Counter
	served      cacheMetrics
}

func newMetrics(reg prometheus.Registerer) metrics {
	f := promauto.With(reg)
	return metrics{
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "millrace_analytics_query_duration_seconds",
			Help:    "Time of one statement by query type, failures included.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15), // 1 ms to 16 s
		}, []string{"type"}),
		failures: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_analytics_query_failures_total",
			Help: "Statements that failed or ran out of time, by query type and by the code that callers see.",
		}, []string{"type", "code"}),
		rows: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_analytics_result_rows_total",
			Help: "Rows of answers by query type; those from the cache are left out.",
		}, []string{"type"}),
		versionless: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_query_cache_versionless_total",
			Help: "Statements whose answers were not kept, because the version of the data could not be read.",
		}),
		served: newCacheMetrics(f),
	}
}
