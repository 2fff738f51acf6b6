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
			"Runs of committed offsets found in no entry of the ledger; again after a restart."),
		overlaps: counter("millrace_reconciler_overlaps_total",
			"Entries of the ledger found to cover offsets that one before them covers."),
		miscounts: counter("millrace_reconciler_miscounts_total",
			"Entries of the ledger whose counts do not add up to their length."),
		lost: counter("millrace_reconciler_lost_offsets_total",
			"Offsets that were gone from the topic before they were stored."),
		gapOffsets: gauge("millrace_reconciler_gap_offsets",
			"Committed offsets that are in no entry of the ledger now, of the partitions owned."),
		behind: gauge("millrace_reconciler_behind_offsets",
			"Committed offsets whose entries were not checked yet, of the partitions owned."),
		waiting: gauge("millrace_reconciler_pairs_waiting", "Owners' days that wait to be compared with their "+
			"rollups; beyond 200000 the others are noted later."),
		overdue: gauge("millrace_reconciler_pairs_overdue", "Owners' days whose turn it was in the latest round and "+
			"that it did not get to; more of them than sink.reconcile_pairs, round after round, are looked at later than "+
			"promised."),
		dirty: gauge("millrace_reconciler_dirty_days",
			"Owners' days whose rollups differ from the base, in the whole list."),
		rate: gauge("millrace_sink_inserts_per_second",
			"Inserts a second over the last 10 minutes, by all sinks and for all topics."),
		horizon: gauge("millrace_sink_token_horizon_seconds",
			"How long the tables remember an insert token at that rate."),
		success: gauge("millrace_reconciler_last_success_timestamp_seconds", "When a round of the reconciler last "+
			"ended without an error, in Unix seconds; that of the start before the first one."),
		rounds: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_reconciler_rounds_total",
			Help: "Rounds of the reconciler, by outcome: done or failed.",
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
