package admission

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics lists everything this package exports.
type metrics struct {
	rejected [reasons]prometheus.Counter
	wait     prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, g *Gate) *metrics {
	f := promauto.With(reg)
	m := &metrics{
		wait: f.NewHistogram(prometheus.HistogramOpts{
			Name: "millrace_admission_queue_seconds",
			Help: "Time that requests wait for Kafka and the processor, estimated ten times a second while requests are in " +
				"service.",
			Buckets: prometheus.ExponentialBuckets(0.004, 2, 12), // 4 ms to 8 s
		}),
	}
	rejected := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_admission_refused_total",
		Help: "Requests rejected for lack of room. reason is memory (none is left), share (the caller's share is used up) " +
			"or queue (requests wait too long).",
	}, []string{"reason"})
	for r := range reasons {
		if r != admitted {
			m.rejected[r] = rejected.WithLabelValues(r.String())
		}
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_admission_bytes",
		Help: "Memory claimed by requests in flight, including their bodies and large responses.",
	}, func() float64 { return float64(g.Used()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_admission_body_bytes",
		Help: "Memory claimed by request bodies of more than 4 KiB.",
	}, func() float64 { return float64(g.parts[Body].Load()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_admission_outside_bytes",
		Help: "Memory of records that the producer still holds after their requests ended.",
	}, func() float64 { return float64(g.outside()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_admission_requests",
		Help: "Requests in service.",
	}, func() float64 { return float64(g.requests()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_admission_limit_requests",
		Help: "Limit of requests in service. It applies only while requests wait too long; otherwise it is 2147483647.",
	}, func() float64 { return float64(g.limit.Load()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_admission_pause_seconds",
		Help: "Delay of each rejection, which slows down callers that resend at once. 0 while the host finishes more " +
			"requests than it rejects.",
	}, func() float64 { return g.Pause().Seconds() })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_admission_waiting",
		Help: "Large requests that wait for memory.",
	}, func() float64 { return float64(g.waiting.Load()) })
	return m
}

// observe records a look at the queue; a host without work has none.
func (m *metrics) observe(wait time.Duration, held int64) {
	if held > 0 {
		m.wait.Observe(wait.Seconds())
	}
}
