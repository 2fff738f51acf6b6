package click

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// reason is why a click is dropped.
type reason uint8

const (
	noRoom reason = iota
	refused
	stopped

	numReasons
)

// reasons are their names in metrics.
var reasons = [numReasons]string{noRoom: "buffer_full", refused: "refused", stopped: "stopped"}

// metrics lists what this package exports.
type metrics struct {
	published prometheus.Counter
	dropped   [numReasons]prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, q *Queue) (m metrics) {
	f := promauto.With(reg)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_clicks_buffered", Help: "Clicks of short links that Kafka has not acknowledged yet.",
	}, func() float64 { return float64(q.clicks.Load()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_clicks_buffered_bytes", Help: "Memory that clicks of short links take that Kafka has not acknowledged yet.",
	}, func() float64 { return float64(q.size.Load()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_clicks_buffer_limit_bytes", Help: "Limit of millrace_clicks_buffered_bytes; beyond it new clicks are dropped.",
	}, func() float64 { return float64(q.max) })
	m.published = f.NewCounter(prometheus.CounterOpts{
		Name: "millrace_clicks_published_total", Help: "Clicks of short links acknowledged by clicks.v1.",
	})
	dropped := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_clicks_dropped_total",
		Help: "Clicks of short links that are lost; reason is buffer_full, refused (by brokers, for good) or stopped (not acknowledged when the process ended). Their visitors were redirected all the same.",
	}, []string{"reason"})
	for r, name := range reasons {
		m.dropped[r] = dropped.WithLabelValues(name)
	}
	return m
}
