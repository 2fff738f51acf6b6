package flagapi

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

// metrics lists everything this package exports. No flag is named: their number is the
// tenants' matter.
type metrics struct {
	evaluated [outcomes]prometheus.Counter
	failed    prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	evaluated := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_flag_evaluations_total",
		Help: "Flags evaluated for the public routes. outcome is target, rule, segment (a rule that uses a segment), " +
			"rollout, rollout_miss, split, default, prerequisite_failed, off (answered as not found) or not_found (no such " +
			"flag, or not visible to the caller).",
	}, []string{"outcome"})
	m := &metrics{failed: f.NewCounter(prometheus.CounterOpts{
		Name: "millrace_flag_evaluation_errors_total",
		Help: "Requests to the public flag routes answered 500 because evaluation failed. Each one is a bug, and the log " +
			"has its cause.",
	})}
	for o := range notFound {
		m.evaluated[o] = evaluated.WithLabelValues(flageval.Reason(o).String())
	}
	m.evaluated[notFound] = evaluated.WithLabelValues("not_found")
	m.evaluated[bySegment] = evaluated.WithLabelValues("segment")
	return m
}

// count notes what became of the evaluations of a request, and forgets it.
func (m *metrics) count(evaluated *[outcomes]int) {
	for o, n := range evaluated {
		if n > 0 {
			m.evaluated[o].Add(float64(n))
		}
	}
	*evaluated = [outcomes]int{}
}
