package sink

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/internal/pipeline/deadletter"
)

// metrics lists what this package counts. Labels are closed sets: step and class
// as declared here, outcome is stored, duplicate, dead_letter or erased, topic and
// partition are those of the cluster.
type metrics struct {
	records       *prometheus.CounterVec
	deadLetters   *prometheus.CounterVec
	ranges        *prometheus.CounterVec
	rebuildSecs   prometheus.Histogram
	rebuildRecs   prometheus.Counter
	insertRows    prometheus.Histogram
	insertSeconds prometheus.Histogram
	commitSeconds *prometheus.HistogramVec
	retries       *prometheus.CounterVec
	fenced        prometheus.Counter
	missed        prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, s *Sink) *metrics {
	f := promauto.With(reg)
	m := &metrics{
		records: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_sink_records_total",
			Help: "Records with a committed offset by outcome: stored, duplicate, dead_letter or erased (of an erased website " +
				"or visitor).",
		}, []string{"outcome"}),
		deadLetters: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_sink_dead_letters_total",
			Help: "Unstorable records by reason, acknowledged by their dead letter topic.",
		}, []string{"reason"}),
		ranges: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_sink_ranges_total",
			Help: "Offset ranges stored and committed, by outcome: new or replayed (from an existing plan).",
		}, []string{"outcome"}),
		rebuildSecs: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "millrace_sink_window_rebuild_seconds",
			Help:    "Duration of rebuilding the window of a partition that the sink took over.",
			Buckets: prometheus.ExponentialBuckets(0.01, 4, 9), // 10 ms to 11 min
		}),
		rebuildRecs: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_sink_window_rebuild_records_total",
			Help: "Records whose headers were read to rebuild windows.",
		}),
		insertRows: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "millrace_sink_insert_rows",
			Help:    "Rows of an acknowledged insert.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 11), // 1 to 1,048,576
		}),
		insertSeconds: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "millrace_sink_insert_duration_seconds",
			Help:    "Time from sending a block to its acknowledgement, without failures.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 13), // 5 ms to 20 s
		}),
		commitSeconds: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "millrace_sink_commit_duration_seconds",
			Help: "Duration of a plan commit or an offset commit (step plan or commit), including retries. An insert waits " +
				"for its plan. A commit that the sink gave up, as for a fenced partition, counts too.",
			// With a bound at 2 s: the most that an insert is to wait while members come and go.
			Buckets: []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30},
		}, []string{"step"}),
		retries: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_sink_retries_total",
			Help: "Failed attempts that are retried, by step (restore, rebuild, plan, tombstones, dead_letter, insert, probe, " +
				"fetch, ledger, commit) and class of the error.",
		}, []string{"step", "class"}),
		missed: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_sink_missed_total",
			Help: "Partitions read again because a fetch left out records of the log. No record was skipped.",
		}),
		fenced: f.NewCounter(prometheus.CounterOpts{
			Name: "millrace_sink_fenced_total",
			Help: "Partitions dropped because the group rejected a commit of their session.",
		}),
	}
	for _, k := range deadletter.Reasons {
		m.deadLetters.WithLabelValues(string(k.Reason)) // so that the first one is a rise
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_sink_memory_bytes", Help: "Bytes of records in hand.",
	}, func() float64 { return float64(s.budget.InUse()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_sink_memory_limit_bytes", Help: "Limit of millrace_sink_memory_bytes. The sink stops fetching at it.",
	}, func() float64 { return float64(s.budget.Limit()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_sink_wait_seconds",
		Help: "Longest time that a record waits for others: sink.max_wait, or longer to stay below sink.max_inserts.",
	}, func() float64 { return s.triggers.Patience().Seconds() })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_sink_window_horizon_seconds", Help: "Time for which event ids should be remembered (sink.window).",
	}, func() float64 { return s.cfg.Window.Seconds() })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_sink_window_limit_bytes",
		Help: "Memory limit of the event ids of all partitions (sink.window_memory). The newest 5 minutes of each " +
			"partition may exceed it.",
	}, func() float64 { return float64(s.cfg.WindowMemory) })
	reg.MustRegister(partitions{s})
	return m
}

func (m *metrics) inserted(rows int, took time.Duration) {
	m.insertRows.Observe(float64(rows))
	m.insertSeconds.Observe(took.Seconds())
}

func (m *metrics) rebuilt(records int64, took time.Duration) {
	m.rebuildRecs.Add(float64(records))
	m.rebuildSecs.Observe(took.Seconds())
}

func (m *metrics) settled(j *job) {
	outcome := "new"
	if j.replayed {
		outcome = "replayed"
	}
	m.ranges.WithLabelValues(outcome).Inc()
	m.records.WithLabelValues("stored").Add(float64(j.stored))
	m.records.WithLabelValues("duplicate").Add(float64(j.dups))
	m.records.WithLabelValues("dead_letter").Add(float64(j.dead))
	m.records.WithLabelValues("erased").Add(float64(j.erased))
	by := map[deadletter.Reason]int{deadletter.ReasonRejected: j.dead - len(j.letters)}
	for i := range j.letters {
		by[j.letters[i].reason]++
	}
	for reason, n := range by {
		m.deadLetters.WithLabelValues(string(reason)).Add(float64(n))
	}
}

var (
	labels = []string{"topic", "partition"}
	// What is told of each partition; the lag comes first, for it is what everybody
	// looks at.
	lagDesc = prometheus.NewDesc("millrace_sink_lag_seconds",
		"Age, from its receipt, of the oldest record that is not yet stored and committed; 0 without one. While the "+
			"brokers do not report the end of the partition, the time since their last report.", labels, nil)
	lagRecordsDesc = prometheus.NewDesc("millrace_sink_lag_records",
		"Records up to the end of the partition that are not yet stored and committed, as of the latest fetch or the check "+
			"every 30 s. Absent while the brokers do not report the end.", labels, nil)
	planDesc = prometheus.NewDesc("millrace_sink_plan_age_seconds",
		"Time since the range in flight was planned; 0 without one.", labels, nil)
	pausedDesc = prometheus.NewDesc("millrace_sink_paused",
		"1 while fetching a partition is paused: its next range is complete, other partitions go first, or the partition "+
			"is halted.",
		labels, nil)
	keysDesc = prometheus.NewDesc("millrace_sink_window_keys",
		"Event ids remembered.", labels, nil)
	bytesDesc = prometheus.NewDesc("millrace_sink_window_bytes",
		"Memory of the remembered event ids.", labels, nil)
	coverageDesc = prometheus.NewDesc("millrace_sink_window_coverage_seconds",
		"Time span, by receive time, for which all event ids are remembered. It is below the horizon if memory forced ids "+
			"out early.", labels,
		nil)
	clampedDesc = prometheus.NewDesc("millrace_sink_window_clamped_total",
		"Times that a window did not advance to its newest records because the clock of an edge is ahead.", labels, nil)
	earlyDesc = prometheus.NewDesc("millrace_sink_window_forgotten_early_total",
		"Five-minute buckets of event ids forgotten before the horizon for lack of memory.",
		labels, nil)
	restoringDesc = prometheus.NewDesc("millrace_sink_restoring",
		"1 while the sink takes over a partition and reads its plan and window.", labels, nil)
	haltedDesc = prometheus.NewDesc("millrace_sink_halted",
		"1 for each halted partition, by reason. The partition stays halted until an operator resolves the reason.",
		[]string{"topic", "partition", "reason"}, nil)
	shareDesc = prometheus.NewDesc("millrace_sink_owner_share",
		"Share of the records stored in the last minute for each of the ten largest websites, by rank. The log names a "+
			"website with more than half.", []string{"rank"}, nil)
)

// partitions collects what is told of each partition owned now.
type partitions struct{ sink *Sink }

// Describe implements prometheus.Collector.
func (partitions) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		lagDesc, lagRecordsDesc, planDesc, pausedDesc, keysDesc, bytesDesc, coverageDesc, clampedDesc, earlyDesc,
		restoringDesc, haltedDesc, shareDesc,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (p partitions) Collect(ch chan<- prometheus.Metric) {
	now := time.Now()
	for _, w := range p.sink.owned() {
		w.collect(now, ch)
	}
	for i, o := range p.sink.owners.shares() {
		ch <- prometheus.MustNewConstMetric(shareDesc, prometheus.GaugeValue, o.share, strconv.Itoa(i+1))
	}
}

func (w *worker) collect(now time.Time, ch chan<- prometheus.Metric) {
	index := strconv.Itoa(int(w.partition.Index))
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, w.partition.Topic, index)
	}
	flag := func(d *prometheus.Desc, on bool) {
		v := 0.0
		if on {
			v = 1
		}
		gauge(d, v)
	}
	records, since := w.lag(now.UnixMilli())
	lag := 0.0
	if since != 0 {
		lag = max(0, float64(now.UnixMilli()-since)/1000)
	}
	gauge(lagDesc, lag)
	if records >= 0 {
		gauge(lagRecordsDesc, float64(records))
	}
	gauge(keysDesc, float64(w.stats.keys.Load()))
	gauge(bytesDesc, float64(w.stats.bytes.Load()))
	gauge(coverageDesc, time.Duration(w.stats.coverage.Load()).Seconds())
	ch <- prometheus.MustNewConstMetric(clampedDesc, prometheus.CounterValue, float64(w.stats.clamped.Load()),
		w.partition.Topic, index)
	ch <- prometheus.MustNewConstMetric(earlyDesc, prometheus.CounterValue, float64(w.stats.early.Load()),
		w.partition.Topic, index)

	w.mu.Lock()
	defer w.mu.Unlock()
	age := 0.0
	if !w.planned.IsZero() {
		age = now.Sub(w.planned).Seconds()
	}
	gauge(planDesc, age)
	flag(pausedDesc, w.paused)
	flag(restoringDesc, !w.restored && w.haltReason == "")
	if w.haltReason != "" {
		ch <- prometheus.MustNewConstMetric(haltedDesc, prometheus.GaugeValue, 1, w.partition.Topic,
			index, string(w.haltReason))
	}
}
