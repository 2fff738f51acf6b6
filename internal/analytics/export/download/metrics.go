package download

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics lists everything this package exports.
type metrics struct {
	rows     *prometheus.CounterVec
	rejected *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer, e *Exporter) *metrics {
	f := promauto.With(reg)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_exports_running",
		Help: "Running exports of raw events.",
	}, func() float64 { return float64(e.places.Taken()) })
	m := &metrics{
		rows: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_export_rows_total",
			Help: "Rows written by exports, by kind of export and format.",
		}, []string{"kind", "format"}),
		rejected: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_exports_refused_total",
			Help: "Exports answered 429 because too many were running. reason is organization or process.",
		}, []string{"reason"}),
	}
	for _, reason := range []string{reasonOrganization, reasonProcess} {
		m.rejected.WithLabelValues(reason)
	}
	return m
}

// Whose exports were too many.
const (
	reasonOrganization = "organization"
	reasonProcess      = "process"
)
