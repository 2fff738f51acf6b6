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
			Help:    "Duration of one statement by query type, including failures.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15), // 1 ms to 16 s
		}, []string{"type"}),
		failures: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_analytics_query_failures_total",
			Help: "Statements that failed or timed out, by query type and by the error code that callers see.",
		}, []string{"type", "code"}),
		rows: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_analytics_result_rows_total",
			Help: "Rows in query results by query type, without results from the cache.",
		}, []string{"type"}),
		versionless: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_query_cache_versionless_total",
			Help: "Statements whose results were not cached because the version of the data could not be read.",
		}),
		served: newCacheMetrics(f),
	}
}
