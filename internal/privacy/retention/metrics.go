package retention

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics lists what this package counts. Those that tell how things are, are of
// the process that made the last pass; in others they are 0.
type metrics struct {
	last       prometheus.Gauge
	took       prometheus.Gauge
	websites   prometheus.Gauge
	unreadable prometheus.Gauge
	failures   prometheus.Counter
	rows       *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	return &metrics{
		last: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_retention_last_success_timestamp_seconds",
			Help: "Time at which this process last finished a retention pass, in Unix seconds; 0 before the first one.",
		}),
		took: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_retention_pass_seconds", Help: "Duration of the last retention pass.",
		}),
		websites: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_retention_websites", Help: "Websites with a retention in days, as of the last retention pass.",
		}),
		unreadable: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_retention_unreadable_websites",
			Help: "Websites skipped in the last retention pass because their retention could not be read.",
		}),
		failures: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_retention_failures_total", Help: "Failed retention passes. They are retried after a minute.",
		}),
		rows: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_retention_rows_total",
			Help: "Expired rows deleted by retention, by table.",
		}, []string{"table"}),
	}
}

func (m *metrics) passed(websites, unreadable int, rows map[string]int64, took time.Duration, now time.Time) {
	m.websites.Set(float64(websites))
	m.unreadable.Set(float64(unreadable))
	m.took.Set(took.Seconds())
	for table, n := range rows {
		m.rows.WithLabelValues(table).Add(float64(n))
	}
	m.last.Set(float64(now.UnixMilli()) / 1000)
}
