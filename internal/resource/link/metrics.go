package link

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// purgeMetrics lists what a Purger counts.
type purgeMetrics struct {
	purged   prometheus.Counter
	failures prometheus.Counter
}

func newPurgeMetrics(reg prometheus.Registerer) *purgeMetrics {
	f := promauto.With(reg)
	return &purgeMetrics{
		purged: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_links_purged_total",
			Help: "Short links removed permanently, 30 days after their deletion or together with their organization.",
		}),
		failures: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_links_purge_failures_total",
			Help: "Failed purges of deleted short links. They are retried after a minute.",
		}),
	}
}
