package kafka

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// producerMetrics lists what a producer exports beside the client's own metrics;
// the label client tells the producers of one process apart.
type producerMetrics struct {
	ackSeconds                 prometheus.Histogram
	rejected, timedOut, failed prometheus.Counter
	lateAcks                   prometheus.Counter
	errors                     *prometheus.CounterVec
}

func newProducerMetrics(reg prometheus.Registerer, client string, p *Producer) producerMetrics {
	f := promauto.With(prometheus.WrapRegistererWith(prometheus.Labels{"client": client}, reg))
	failures := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_kafka_publish_failures_total",
		Help: "Unconfirmed publications. reason is buffer_full (nothing was sent), deadline or broker.",
	}, []string{"reason"})
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_kafka_publish_buffered_bytes",
		Help: "Memory of the records that brokers have not acknowledged yet.",
	}, func() float64 { return float64(p.buffered.Load()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_kafka_publish_buffer_limit_bytes",
		Help: "Limit of millrace_kafka_publish_buffered_bytes. Requests are rejected beyond it.",
	}, func() float64 { return float64(p.max) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_kafka_up",
		Help: "1 while a broker answers. 0 before the first response, and when every request of the last 5 s failed.",
	}, p.reach.up)
	return producerMetrics{
		ackSeconds: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "millrace_kafka_ack_duration_seconds",
			Help:    "Time from publishing the records of a request to the last acknowledgement, without failures.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 15), // 0.5 ms to 8 s
		}),
		rejected: failures.WithLabelValues("buffer_full"),
		timedOut: failures.WithLabelValues("deadline"),
		failed:   failures.WithLabelValues("broker"),
		lateAcks: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_kafka_late_acks_total",
			Help: "Records acknowledged after their request was answered 503.",
		}),
		errors: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_kafka_produce_errors_total",
			Help: "Records that the producer failed to send, by the broker's error code, such as MESSAGE_TOO_LARGE. code is " +
				"timeout for records retried until their deadline, and other for errors that no broker reported.",
		}, []string{"code"}),
	}
}

// produceCode is why a record was given up, as it stands in metrics. The client
// knows a fixed set of brokers' codes and takes others for UNKNOWN_SERVER_ERROR.
func produceCode(err error) string {
	if rejected, ok := errors.AsType[*kerr.Error](err); ok {
		return rejected.Message
	}
	if errors.Is(err, kgo.ErrRecordTimeout) {
		return "timeout"
	}
	return "other"
}
