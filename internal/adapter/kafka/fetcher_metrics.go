package kafka

import (
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
		Help: "Record batches, as brokers sent them, that wait to be unpacked.",
	}, func() float64 { return float64(f.count(&f.held)) })
	to.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_kafka_fetched_packed_limit_bytes",
		Help: "What millrace_kafka_fetched_packed_bytes may be, but for a batch of each broker.",
	}, func() float64 { return float64(f.limit) })
	to.NewCounterFunc(prometheus.CounterOpts{
		Name: "millrace_kafka_fetched_dropped_bytes_total",
		Help: "Bytes of paused partitions that were dropped to make room, and are fetched again.",
	}, func() float64 { return float64(f.count(&f.dropped)) })
}

func (f *fetcher) count(n *int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *n
}
