package sink

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics lists what this package counts. Labels are closed sets: step and class
// as declared here, outcome is stored, duplicate or dead_letter, topic and
// partition are those of the cluster.
type metrics struct {
	records       *prometheus.CounterVec
	deadLetters   *prometheus.CounterVec
	ranges        prometheus.Counter
	insertRows    prometheus.Histogram
	insertSeconds prometheus.Histogram
	retries       *prometheus.CounterVec
	fenced        prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, s *Sink) *metrics {
	f := promauto.With(reg)
	m := &metrics{
		records: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_sink_records_total",
			Help: "Records whose offset was committed, by outcome: stored, duplicate or dead_letter.",
		}, []string{"outcome"}),
		deadLetters: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_sink_dead_letters_total",
			Help: "Records that cannot be stored, by reason, acknowledged by their dead letter topic.",
		}, []string{"reason"}),
		ranges: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_sink_ranges_total",
			Help: "Offset ranges inserted and committed.",
		}),
		insertRows: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "millrace_sink_insert_rows",
			Help:    "Rows of an acknowledged insert.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 11), // 1 to 1,048,576
		}),
		insertSeconds: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "millrace_sink_insert_duration_seconds",
			Help:    "Time from sending a block to its acknowledgement, successes only.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 13), // 5 ms to 20 s
		}),
		retries: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_sink_retries_total",
			Help: "Failed attempts that are made again, by step (dead_letter, epoch, insert, commit) and class of the error.",
		}, []string{"step", "class"}),
		fenced: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_sink_fenced_total",
			Help: "Partitions dropped because the group did not accept a commit of their session.",
		}),
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_sink_memory_bytes", Help: "Bytes of records in hand.",
	}, func() float64 { return float64(s.budget.inUse()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_sink_memory_limit_bytes", Help: "Bytes of records in hand at which nothing more is fetched.",
	}, func() float64 { return float64(s.budget.limit) })
	reg.MustRegister(partitions{s})
	return m
}

func (m *metrics) inserted(rows int, took time.Duration) {
	m.insertRows.Observe(float64(rows))
	m.insertSeconds.Observe(took.Seconds())
}

func (m *metrics) settled(r *frozen) {
	m.ranges.Inc()
	m.records.WithLabelValues("stored").Add(float64(r.rows()))
	m.records.WithLabelValues("duplicate").Add(float64(r.dups))
	m.records.WithLabelValues("dead_letter").Add(float64(len(r.letters)))
	for i := range r.letters {
		m.deadLetters.WithLabelValues(string(r.letters[i].Reason)).Inc()
	}
}

var (
	labels  = []string{"topic", "partition"}
	lagDesc = prometheus.NewDesc("millrace_sink_lag_seconds",
		"Age of the oldest record that is not stored and committed, from its receipt; 0 when there is none, as far as fetched.", labels, nil)
	lagRecordsDesc = prometheus.NewDesc("millrace_sink_lag_records",
		"Records up to the end of the partition that are not stored and committed, in hand or not, as of the latest fetch.", labels, nil)
	pausedDesc = prometheus.NewDesc("millrace_sink_paused",
		"1 while fetching a partition is paused because its next range is complete.", labels, nil)
	keysDesc = prometheus.NewDesc("millrace_sink_window_keys",
		"Event ids remembered.", labels, nil)
	bytesDesc = prometheus.NewDesc("millrace_sink_window_bytes",
		"Memory of the remembered event ids.", labels, nil)
	coverageDesc = prometheus.NewDesc("millrace_sink_window_coverage_seconds",
		"How far back in record time event ids are remembered.", labels, nil)
)

// partitions collects what is told of each partition owned now.
type partitions struct{ sink *Sink }

// Describe implements prometheus.Collector.
func (partitions) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{lagDesc, lagRecordsDesc, pausedDesc, keysDesc, bytesDesc, coverageDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (p partitions) Collect(ch chan<- prometheus.Metric) {
	now := time.Now().UnixMilli()
	for _, w := range p.sink.owned() {
		lag, paused := 0.0, 0.0
		records, oldest := w.lag()
		if oldest != 0 {
			lag = max(0, float64(now-oldest)/1000)
		}
		if w.isPaused() {
			paused = 1
		}
		for d, v := range map[*prometheus.Desc]float64{
			lagDesc: lag, lagRecordsDesc: float64(records), pausedDesc: paused,
			keysDesc: float64(w.stats.keys.Load()), bytesDesc: float64(w.stats.bytes.Load()),
			coverageDesc: time.Duration(w.stats.coverage.Load()).Seconds(),
		} {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, w.partition.Topic, strconv.Itoa(int(w.partition.Index)))
		}
	}
}
