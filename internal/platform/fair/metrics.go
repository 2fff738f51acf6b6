package fair

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics lists everything this package exports.
type metrics struct {
	held, waiting prometheus.Gauge
	waited        prometheus.Histogram
	rejected      *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) metrics {
	f := promauto.With(reg)
	m := metrics{
		held: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_query_slots_held",
			Help: "Running statements.",
		}),
		waiting: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_query_slots_waiting",
			Help: "Admitted statements that wait for a slot.",
		}),
		waited: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "millrace_query_slot_wait_seconds",
			Help:    "Time that statements waited for a slot. Statements that never got one are not counted.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10), // 0.1 ms to 26 s
		}),
		rejected: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_query_slots_refused_total",
			Help: "Requests rejected because too many statements waited. queue names the full queue: that of one owner, of " +
				"one tenant, or of all.",
		}, []string{"queue"}),
	}
	for _, queue := range []string{queueOwner, queueTenant, queueAll} {
		m.rejected.WithLabelValues(queue)
	}
	return m
}

// Whose queue was full.
const (
	queueOwner  = "owner"
	queueTenant = "tenant"
	queueAll    = "all"
)
