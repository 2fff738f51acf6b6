package ingest

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/internal/fault"
)

// metrics lists everything this package exports.
type metrics struct {
	accepted    prometheus.Counter
	unconfirmed prometheus.Counter
	refused     *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) metrics {
	f := promauto.With(reg)
	return metrics{
		accepted: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_ingest_events_accepted_total",
			Help: "Events acknowledged by Kafka and answered 200, duplicates included.",
		}),
		unconfirmed: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_ingest_events_unconfirmed_total",
			Help: "Good events answered 503 because not every acknowledgement of their request arrived in time.",
		}),
		refused: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_ingest_requests_refused_total",
			Help: "Requests refused, by the step that refused them and the code of the answer.",
		}, []string{"step", "code"}),
	}
}

func (m metrics) refuse(step string, code fault.Code) {
	m.refused.WithLabelValues(step, string(code)).Inc()
}
