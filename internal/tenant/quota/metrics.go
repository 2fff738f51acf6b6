package quota

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type counterMetrics struct {
	counted, exceeded prometheus.Gauge
	failures          prometheus.Counter
}

func newCounterMetrics(reg prometheus.Registerer, held func() bool) counterMetrics {
	f := promauto.With(reg)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_quota_active", Help: "1 on the one process that counts usage.",
	}, func() float64 {
		if held() {
			return 1
		}
		return 0
	})
	return counterMetrics{
		counted: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_quota_counted_timestamp_seconds",
			Help: "Time of the last count of usage, in Unix seconds; 0 on a process that never counted.",
		}),
		exceeded: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_quota_organizations_exceeded",
			Help: "Organizations over their quota this month, as of this process's last count.",
		}),
		failures: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_quota_count_failures_total", Help: "Failed counts of usage. The last decisions stay in force.",
		}),
	}
}
