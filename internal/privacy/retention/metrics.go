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
			Help: "When this process last finished a pass over what websites do not keep any longer; 0 before the first one.",
		}),
		took: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_retention_pass_seconds", Help: "How long that pass took.",
		}),
		websites: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_retention_websites", Help: "Websites that keep events for a number of days, as of that pass.",
		}),
		unreadable: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_retention_unreadable_websites",
			Help: "Websites of which nothing was deleted in that pass, because for how long they keep events cannot be read.",
		}),
		failures: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_retention_failures_total", Help: "Passes that failed; they are made again after a minute.",
		}),
		rows: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_retention_rows_total",
			Help: "Rows that were deleted because a website does not keep them any longer, by table.",
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
