package exposure

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sendqueue"
)

// fate is what becomes of an exposure that a flag asks for.
type fate uint8

const (
	published fate = iota
	repeated
	sampledOut
	noVisitor
	noSalt
	noRoom
	rejected
	stopped

	numFates
)

// fates are their names in metrics.
var fates = [numFates]string{
	published: "published", repeated: "repeated", sampledOut: "sampled_out", noVisitor: "no_visitor", noSalt: "no_salt",
	noRoom: "buffer_full", rejected: "refused", stopped: "stopped",
}

// buffered are the fates of what was put into the queue.
var buffered = [sendqueue.Fates]fate{
	sendqueue.Published: published, sendqueue.Full: noRoom, sendqueue.Rejected: rejected, sendqueue.Stopped: stopped,
}

// metrics lists what this package exports.
type metrics [numFates]prometheus.Counter

func newMetrics(reg prometheus.Registerer, held *sendqueue.Queue[taken, record.ExposureRecord], limit int) (m metrics) {
	f := promauto.With(reg)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_exposures_buffered_bytes",
		Help: "Memory of the exposures to feature flags that Kafka has not acknowledged yet.",
	}, func() float64 { return float64(held.Bytes()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_exposures_buffer_limit_bytes",
		Help: "Limit of millrace_exposures_buffered_bytes. The host drops new exposures beyond it.",
	}, func() float64 { return float64(limit) })
	all := f.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_exposures_total",
		Help: "Exposures to feature flags. fate is published (acknowledged by exposures.v1), repeated (already recorded " +
			"that day), sampled_out or no_visitor (no visitor to count). The other values are losses: no_salt (the anonymous " +
			"id could not be hashed), buffer_full, refused (rejected by brokers for good) and stopped (not acknowledged at " +
			"shutdown). The flag was evaluated in every case.",
	}, []string{"fate"})
	for i, name := range fates {
		m[i] = all.WithLabelValues(name)
	}
	return m
}
