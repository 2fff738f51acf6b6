package control

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type relayMetrics struct {
	pending             prometheus.Gauge
	published, failures prometheus.Counter
}

func newRelayMetrics(reg prometheus.Registerer, held func() bool) relayMetrics {
	f := promauto.With(reg)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_control_relay_active",
		Help: "1 on the process that publishes announced changes; one process of all does.",
	}, number(held))
	return relayMetrics{
		pending: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_control_outbox_pending",
			Help: "Announced changes that wait to be published, as the active relay last saw them; at most 500 are counted.",
		}),
		published: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_control_published_total", Help: "Changes published to control.v1.",
		}),
		failures: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_control_publish_failures_total",
			Help: "Attempts to read the outbox or to publish it that failed; the changes wait and are tried again.",
		}),
	}
}

type followerMetrics struct {
	changes, unreadable, losses, reloadFailures prometheus.Counter
}

func newFollowerMetrics(reg prometheus.Registerer, following func() bool, states []*States) followerMetrics {
	f := promauto.With(reg)
	if len(states) > 0 {
		f.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "millrace_control_states_age_seconds", Help: "Age of the states held, such as the quotas that an edge " +
				"decides by: since all of them were read from the metadata store, or control.v1 confirmed that no change is " +
				"missing; since the start before that.",
		}, func() float64 {
			oldest := time.Duration(0)
			for _, s := range states {
				oldest = max(oldest, s.age())
			}
			return oldest.Seconds()
		})
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_control_following", Help: "1 while changes arrive through control.v1; at 0 everything held is " +
			"read from the metadata store again every few seconds.",
	}, number(following))
	return followerMetrics{
		changes: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_control_changes_total", Help: "Changes read from control.v1.",
		}),
		unreadable: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_control_unreadable_total",
			Help: "Records of control.v1 that could not be read; after each one, everything held is read again.",
		}),
		losses: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_control_losses_total", Help: "Times that reading control.v1 ended and was begun anew.",
		}),
		reloadFailures: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_control_reload_failures_total",
			Help: "Failed readings of states from the metadata store while no changes arrive.",
		}),
	}
}

func number(is func() bool) func() float64 {
	return func() float64 {
		if is() {
			return 1
		}
		return 0
	}
}
