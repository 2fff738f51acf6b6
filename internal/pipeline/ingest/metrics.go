package ingest

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/pipeline/tally"
)

// metrics lists everything this package exports.
type metrics struct {
	received    *prometheus.CounterVec
	ended       *prometheus.CounterVec
	routes      map[string]*funnel // of the usual routes
	unconfirmed prometheus.Counter
	rejected    *prometheus.CounterVec
	bots        *prometheus.CounterVec
	renamed     prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) metrics {
	f := promauto.With(reg)
	m := metrics{
		received: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_ingest_events_received_total",
			Help: "Events of the requests that ended, by route: those of millrace_ingest_events_total, all outcomes " +
				"together. A request that was refused before its events could be counted is one.",
		}, []string{"route"}),
		ended: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_ingest_events_total",
			Help: "What became of the events that were received, each in one outcome, by route: accepted (acknowledged by " +
				"Kafka, duplicates included), bot, excluded, declined (the browser asks not to be tracked), or the code with " +
				"which it or its request was refused.",
		}, []string{"route", "outcome"}),
		routes: map[string]*funnel{},
		unconfirmed: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_ingest_events_unconfirmed_total",
			Help: "Events that may be stored although their request was refused with DELIVERY_UNAVAILABLE, because not every " +
				"acknowledgement arrived in time.",
		}),
		bots: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_ingest_events_bots_total",
			Help: "Events of programs that say what they are, answered 204 and not stored, by kind.",
		}, []string{"kind"}),
		renamed: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_ingest_events_renamed_total",
			Help: "Events and errors stored under the name (other), because their website had more names that day than " +
				"ingest.max_names.",
		}),
		rejected: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_ingest_requests_refused_total",
			Help: "Requests refused, by the step that refused them and the code of the answer.",
		}, []string{"step", "code"}),
	}
	for _, r := range []*Route{Track, Page, Batch, Vitals, Errors, Engagement, Identify, PixelPage} {
		m.routes[r.Name] = &funnel{
			m.received.WithLabelValues(r.Name), m.ended.WithLabelValues(r.Name, tally.Accepted.String()),
		}
	}
	return m
}

// funnel are the counters of a route that nearly every request needs.
type funnel struct{ received, accepted prometheus.Counter }

func (m *metrics) receive(route string, events int) {
	if f := m.routes[route]; f != nil {
		f.received.Add(float64(events))
		return
	}
	m.received.WithLabelValues(route).Add(float64(events))
}

// end counts events that ended in one way.
func (m *metrics) end(route string, what tally.Outcome, events int) {
	if events == 0 {
		return
	}
	if f := m.routes[route]; f != nil && what == tally.Accepted {
		f.accepted.Add(float64(events))
		return
	}
	m.ended.WithLabelValues(route, what.String()).Add(float64(events))
}

func (m *metrics) reject(step string, code apierr.Code) {
	m.rejected.WithLabelValues(step, string(code)).Inc()
}
