package mcp

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics lists everything this package exports. Both hosts of a process share a registry.
type metrics struct {
	calls    *prometheus.CounterVec
	duration prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, e *Endpoint) *metrics {
	f := promauto.With(prometheus.WrapRegistererWith(prometheus.Labels{"host": e.cfg.Host.String()}, reg))
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_mcp_streams", Help: "Open streams of MCP clients that wait for changes of their tools.",
	}, func() float64 { return float64(e.streams.Taken()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_mcp_streams_limit", Help: "Limit of millrace_mcp_streams. The host rejects further streams.",
	}, func() float64 { return float64(e.streams.Most()) })
	m := &metrics{
		calls: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_mcp_tool_calls_total",
			Help: "Calls of MCP tools by tool and outcome: ok, or the error code that the client got.",
		}, []string{"tool", "outcome"}),
		duration: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "millrace_mcp_tool_duration_seconds",
			Help:    "Time of a call of an MCP tool.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15), // 1 ms to 16 s
		}),
	}
	for i := range e.cfg.Tools { // so that a rate has a 0 to begin with
		for _, outcome := range outcomes {
			m.calls.WithLabelValues(e.cfg.Tools[i].Name, string(outcome))
		}
	}
	return m
}

// outcomes are those of calls: ok, and the codes of errors.
var outcomes = []Code{
	outcomeOK, InvalidInput, NotFound, Unauthorized, Forbidden, RateLimited, Conflict, Unavailable, UpstreamTimeout,
	QueryFailed, Internal,
}

const outcomeOK Code = "ok"

func (m *metrics) count(tool string, outcome Code) {
	m.calls.WithLabelValues(tool, string(outcome)).Inc()
}
