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
		Help: "1 on the one process that publishes change events.",
	}, number(held))
	return relayMetrics{
		pending: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_control_outbox_pending",
			Help: "Change events that wait to be published, as last counted by the active relay; at most 500 are counted.",
		}),
		published: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_control_published_total", Help: "Change events published to control.v1.",
		}),
		failures: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_control_publish_failures_total",
			Help: "Failed attempts to read or publish the outbox. The change events stay in the outbox and are retried.",
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
			Name: "millrace_control_states_age_seconds", Help: "Age of the cached states, such as the quotas on an edge. It " +
				"counts from the last full read, the last confirmation through control.v1, or else the start.",
		}, func() float64 {
			oldest := time.Duration(0)
			for _, s := range states {
				oldest = max(oldest, s.age())
			}
			return oldest.Seconds()
		})
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_control_following", Help: "1 while change events arrive through control.v1. At 0 caches are read " +
			"from the metadata store again every few seconds.",
	}, number(following))
	return followerMetrics{
		changes: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_control_changes_total", Help: "Change events read from control.v1.",
		}),
		unreadable: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_control_unreadable_total",
			Help: "Records of control.v1 that could not be decoded. After each one the process reads its caches again.",
		}),
		losses: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_control_losses_total", Help: "Times that reading control.v1 failed and started again.",
		}),
		reloadFailures: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_control_reload_failures_total",
			Help: "Failed reads of cached states from the metadata store while no change events arrive.",
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
