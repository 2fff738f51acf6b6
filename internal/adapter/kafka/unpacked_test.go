package kafka

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/platform/config"
)

// unpacked sums what was decompressed, as the client's metrics tell.
func unpacked(t *testing.T, reg prometheus.Gatherer) (bytes int64) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "millrace_kafka_fetch_bytes_total" {
			for _, m := range f.GetMetric() {
				bytes += int64(m.GetCounter().GetValue())
			}
		}
	}
	return bytes
}

// A website sends what repeats: a megabyte of it is 250 when it is unpacked. What a
// poll does not ask for stays packed.
func TestWhatIsUnpackedIsBoundedWhateverIsSent(t *testing.T) {
	t.Parallel()
	_, cfg := kafkatest.Cluster(t, kfake.SeedTopics(1, record.TopicEvents))
	producer, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...), kgo.DefaultProduceTopic(record.TopicEvents),
		kgo.ProducerBatchCompression(kgo.Lz4Compression().WithLevel(9)), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(producer.Close)
	const size, n = 60 << 10, 1600 // 94 MiB
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Value: append(bytes.Repeat([]byte("a"), size), fmt.Append(nil, i)...)}
	}
	if err := producer.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	r := &reader{client: producer}
	if r.Consumer, err = NewConsumer(cfg, config.Default().Sink, []string{record.TopicEvents}, ConsumerDeps{
		Client: "test", Log: slog.New(slog.DiscardHandler), Metrics: reg,
	}); err != nil {
		t.Fatal(err)
	}
	if err := r.Open(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	var delivered int64
	const batch = 1 << 20 // of the producer, at most
	for next := int64(0); next < n; {
		if err := r.Poll(t.Context(), 1, func(b sink.Delivery) {
			for _, rec := range b.Records {
				if rec.Offset != next || len(rec.Value) < size {
					t.Fatalf("offset %d with %d bytes, want %d", rec.Offset, len(rec.Value), next)
				}
				next++
				delivered += int64(len(rec.Value))
			}
		}); err != nil {
			t.Fatal(err)
		}
		if got := unpacked(t, reg); got < delivered || got > delivered+batch {
			t.Fatalf("%d bytes are unpacked, and %d were delivered", got, delivered)
		}
	}
}
