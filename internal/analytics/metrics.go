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
			Help: "Statements that failed or ran out of time, by query type.",
		}, []string{"type"}),
		rows: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_analytics_result_rows_total",
			Help: "Rows of answers by query type.",
		}, []string{"type"}),
	}
}
