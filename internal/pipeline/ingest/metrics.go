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
			Help: "Events of completed requests by route, equal to the sum of millrace_ingest_events_total over all outcomes. " +
				"A request rejected before its events were counted counts as one.",
		}, []string{"route"}),
		ended: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_ingest_events_total",
			Help: "Received events by route and outcome. outcome is accepted (acknowledged by Kafka, duplicates included), " +
				"bot, excluded, declined (the browser asks not to be tracked), or the error code of the event or its request.",
		}, []string{"route", "outcome"}),
		routes: map[string]*funnel{},
		unconfirmed: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_ingest_events_unconfirmed_total",
			Help: "Events of requests answered DELIVERY_UNAVAILABLE that may be stored anyway, because an acknowledgement was " +
				"late.",
		}),
		bots: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_ingest_events_bots_total",
			Help: "Events of declared bots by kind. The host does not store them; a request with only such events gets 204.",
		}, []string{"kind"}),
		renamed: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_ingest_events_renamed_total",
			Help: "Events and page errors stored as (other), because their website exceeded ingest.max_names that day.",
		}),
		rejected: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_ingest_requests_refused_total",
			Help: "Rejected requests by the step that rejected them and the error code of the response.",
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
