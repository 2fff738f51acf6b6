package kafka

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/internal/platform/config"
)

// What a pipeline's fetched batches may take, packed: an eighth of its memory, but not less
// than one broker sends at a time, and not more than is of use.
const (
	leastPacked = fetchMaxBytes
	mostPacked  = 4 * fetchMaxBytes
)

func packedBytes(cfg config.Sink) int64 {
	return max(leastPacked, min(mostPacked, int64(cfg.MaxMemory)/8))
}

// export lists what the fetcher exports beside the client's own metrics.
func (f *fetcher) export(to promauto.Factory) {
	to.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_kafka_fetched_packed_bytes",
		Help: "Bytes of fetched record batches that are not decompressed yet.",
	}, func() float64 { return float64(f.count(&f.held)) })
	to.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_kafka_fetched_packed_limit_bytes",
		Help: "Limit of millrace_kafka_fetched_packed_bytes. One batch of each broker may exceed it.",
	}, func() float64 { return float64(f.limit) })
	to.NewCounterFunc(prometheus.CounterOpts{
		Name: "millrace_kafka_fetched_dropped_bytes_total",
		Help: "Fetched bytes of paused partitions that were dropped to free memory. They are fetched again.",
	}, func() float64 { return float64(f.count(&f.dropped)) })
}

var unfetchedDesc = prometheus.NewDesc("millrace_kafka_unfetched_partitions",
	"Partitions of a topic that this member owns and has failed to fetch for ten seconds or more. None of their records "+
		"are stored.", []string{"topic"}, nil)

// unfetched is a prometheus.Collector of the partitions that a consumer cannot fetch.
type unfetched struct{ consumer *Consumer }

// Describe implements prometheus.Collector.
func (unfetched) Describe(ch chan<- *prometheus.Desc) { ch <- unfetchedDesc }

// Collect implements prometheus.Collector. Topics are named without prefix, as by the sink.
func (u unfetched) Collect(ch chan<- prometheus.Metric) {
	all := u.consumer.unfetched(time.Now())
	for _, topic := range u.consumer.topics {
		ch <- prometheus.MustNewConstMetric(unfetchedDesc, prometheus.GaugeValue, float64(all[topic]), topic)
	}
}

// unfetched counts the partitions that could not be fetched for a while, by topic.
func (c *Consumer) unfetched(now time.Time) map[string]int {
	all := c.fetcher.unfetched(now)
	c.mu.Lock()
	defer c.mu.Unlock()
	for p, r := range c.rewinds { // where they begin could not be looked up
		if now.Sub(r.since) >= unfetchedAfter {
			all[p.Topic]++
		}
	}
	return all
}

// unfetched leaves out what is paused, which was not tried since, and what will not be fetched any
// more, whose owner was told.
func (f *fetcher) unfetched(now time.Time) map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string]int{}
	for _, s := range f.order {
		if !s.paused && !s.failed && !s.since.IsZero() && now.Sub(s.since) >= unfetchedAfter {
			all[s.partition.Topic]++
		}
	}
	return all
}

func (f *fetcher) count(n *int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *n
}
