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
			Name:    "millrace_admission_queue_seconds",
			Help:    "How long requests wait for Kafka and the processor, estimated ten times a second while some are held.",
			Buckets: prometheus.ExponentialBuckets(0.004, 2, 12), // 4 ms to 8 s
		}),
	}
	rejected := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_admission_refused_total",
		Help: "Requests refused because there was no room: memory is used up, the caller's share of it is (share), or " +
			"requests wait too long (queue).",
	}, []string{"reason"})
	for r := range reasons {
		if r != admitted {
			m.rejected[r] = rejected.WithLabelValues(r.String())
		}
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_admission_bytes",
		Help: "Memory claimed by requests in flight, bodies and large answers included.",
	}, func() float64 { return float64(g.Used()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_admission_body_bytes",
		Help: "Memory claimed by request bodies of more than 4 KiB.",
	}, func() float64 { return float64(g.parts[Body].Load()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_admission_outside_bytes",
		Help: "Memory of records whose requests were given up while the producer still held them.",
	}, func() float64 { return float64(g.outside()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_admission_requests",
		Help: "Requests at work.",
	}, func() float64 { return float64(g.requests()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_admission_limit_requests",
		Help: "Requests that may be at work while they wait too long; 2147483647 while they do not.",
	}, func() float64 { return float64(g.limit.Load()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_admission_pause_seconds",
		Help: "How long rejections are held back, so that callers who send again at once leave the processor to the work; " +
			"0 while fewer are rejected than done.",
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
