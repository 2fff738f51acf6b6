package ledger

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics lists what this package counts.
type metrics struct {
	gaps, overlaps, miscounts, lost prometheus.Counter
	gapOffsets, behind, waiting     prometheus.Gauge
	overdue                         prometheus.Gauge
	dirty, rate, horizon, success   prometheus.Gauge
	rounds                          *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return f.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	m := &metrics{
		gaps: counter("millrace_reconciler_gaps_total",
			"Ranges of committed offsets found without an entry in the ledger. A restart counts them again."),
		overlaps: counter("millrace_reconciler_overlaps_total",
			"Ledger entries that cover offsets of an earlier entry."),
		miscounts: counter("millrace_reconciler_miscounts_total",
			"Ledger entries whose counts do not add up to their length."),
		lost: counter("millrace_reconciler_lost_offsets_total",
			"Offsets that disappeared from the topic before they were stored."),
		gapOffsets: gauge("millrace_reconciler_gap_offsets",
			"Committed offsets of the owned partitions without an entry in the ledger, at present."),
		behind: gauge("millrace_reconciler_behind_offsets",
			"Committed offsets of the owned partitions whose ledger entries are not checked yet."),
		waiting: gauge("millrace_reconciler_pairs_waiting", "Days of owners that wait to be compared with their rollups. "+
			"At 200000 the reconciler lists further days later."),
		overdue: gauge("millrace_reconciler_pairs_overdue", "Days of owners that were due in the latest round and not "+
			"reached. If they exceed sink.reconcile_pairs in every round, days are compared late."),
		dirty: gauge("millrace_reconciler_dirty_days",
			"Days of owners whose rollups differ from the base, over the whole list."),
		rate: gauge("millrace_sink_inserts_per_second",
			"Inserts per second over the last 10 minutes, by all sinks and for all topics."),
		horizon: gauge("millrace_sink_token_horizon_seconds",
			"Time for which the tables remember an insert token at the rate of millrace_sink_inserts_per_second."),
		success: gauge("millrace_reconciler_last_success_timestamp_seconds", "Time of the last successful reconciler "+
			"round, in Unix seconds; the start of the process before the first one."),
		rounds: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_reconciler_rounds_total",
			Help: "Reconciler rounds by outcome: done or failed.",
		}, []string{"outcome"}),
	}
	m.horizon.Set(math.Inf(1)) // until it is measured: nothing was forgotten yet
	m.success.SetToCurrentTime()
	return m
}

func (m *metrics) round(err error, now time.Time) {
	if err != nil {
		m.rounds.WithLabelValues("failed").Inc()
		return
	}
	m.rounds.WithLabelValues("done").Inc()
	m.success.Set(float64(now.UnixMilli()) / 1000)
}
