package kafka

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// producerMetrics lists what a producer exports beside the client's own metrics;
// the label client tells the producers of one process apart.
type producerMetrics struct {
	ackSeconds                prometheus.Histogram
	refused, timedOut, failed prometheus.Counter
	lateAcks                  prometheus.Counter
}

func newProducerMetrics(reg prometheus.Registerer, client string, p *Producer) producerMetrics {
	f := promauto.With(prometheus.WrapRegistererWith(prometheus.Labels{"client": client}, reg))
	failures := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_kafka_publish_failures_total",
		Help: "Publications not confirmed; reason is buffer_full (nothing was sent), deadline or broker.",
	}, []string{"reason"})
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_kafka_publish_buffered_bytes",
		Help: "Memory held by records that brokers have not acknowledged.",
	}, func() float64 { return float64(p.buffered.Load()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_kafka_publish_buffer_limit_bytes",
		Help: "Limit of millrace_kafka_publish_buffered_bytes; beyond it requests are refused.",
	}, func() float64 { return float64(p.max) })
	return producerMetrics{
		ackSeconds: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "millrace_kafka_ack_duration_seconds",
			Help:    "Time from handing a request's records over to the last acknowledgement, successes only.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 15), // 0.5 ms to 8 s
		}),
		refused:  failures.WithLabelValues("buffer_full"),
		timedOut: failures.WithLabelValues("deadline"),
		failed:   failures.WithLabelValues("broker"),
		lateAcks: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_kafka_late_acks_total",
			Help: "Records acknowledged after their request had been answered 503.",
		}),
	}
}
