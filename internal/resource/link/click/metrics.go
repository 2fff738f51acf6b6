package click

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sendqueue"
)

// reasons are the losses' names in metrics.
var reasons = map[sendqueue.Fate]string{
	sendqueue.Full: "buffer_full", sendqueue.Rejected: "refused", sendqueue.Stopped: "stopped",
}

// metrics lists what this package exports.
type metrics struct {
	fates [sendqueue.Fates]prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, held *sendqueue.Queue[taken, record.ClickRecord], limit int) (m metrics) {
	f := promauto.With(reg)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_clicks_buffered", Help: "Clicks of short links that Kafka has not acknowledged yet.",
	}, func() float64 { return float64(held.Len()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_clicks_buffered_bytes",
		Help: "Memory of the clicks of short links that Kafka has not acknowledged yet.",
	}, func() float64 { return float64(held.Bytes()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_clicks_buffer_limit_bytes",
		Help: "Limit of millrace_clicks_buffered_bytes. The edge drops new clicks beyond it.",
	}, func() float64 { return float64(limit) })
	m.fates[sendqueue.Published] = f.NewCounter(prometheus.CounterOpts{
		Name: "millrace_clicks_published_total", Help: "Clicks of short links that clicks.v1 acknowledged.",
	})
	dropped := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_clicks_dropped_total",
		Help: "Lost clicks of short links. reason is buffer_full, refused (rejected by brokers for good) or stopped (not " +
			"acknowledged at shutdown). The visitors were redirected.",
	}, []string{"reason"})
	for fate, name := range reasons {
		m.fates[fate] = dropped.WithLabelValues(name)
	}
	return m
}
