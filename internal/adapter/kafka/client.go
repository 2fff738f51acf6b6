package kafka

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kprom"

	"github.com/millrace/millrace/internal/platform/buildinfo"
	"github.com/millrace/millrace/internal/platform/config"
)

const (
	dialTimeout = 5 * time.Second
	// metadataMinAge is how soon after a change of leader it is seen; the
	// client's own default outlasts the edge's deadline.
	metadataMinAge = time.Second
	// adminTimeout bounds each call about topics.
	adminTimeout = 15 * time.Second
)

var errNoBrokers = errors.New("kafka.brokers is empty")

// ClientOptions returns what every client of the process has in common. ClientID
// names the client to brokers and in metrics, such as "ingest-edge"; reg may be
// nil for a client that nobody watches.
func ClientOptions(cfg config.Kafka, clientID string, log *slog.Logger, reg prometheus.Registerer) ([]kgo.Opt, error) {
	if len(cfg.Brokers) == 0 {
		return nil, errNoBrokers
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(cfg.Brokers...),
		kgo.ClientID("millrace-" + clientID),
		kgo.SoftwareNameAndVersion("millrace", buildinfo.Version()),
		kgo.WithLogger(logger{log: log.With(slog.String("client", clientID))}),
		kgo.MetadataMinAge(metadataMinAge),
		kgo.RetryBackoffFn(backoff),
		kgo.AlwaysRetryEOF(),
	}
	secured, err := securityOptions(cfg)
	if err != nil {
		return nil, err
	}
	opts = append(opts, secured...)
	if reg != nil {
		labelled := prometheus.WrapRegistererWith(prometheus.Labels{"client": clientID}, reg)
		opts = append(opts, kgo.WithHooks(clientMetrics(labelled)))
	}
	return opts, nil
}

// clientMetrics are those of the client library that docs/reference/metrics.md lists;
// left to itself it counts bytes only.
func clientMetrics(reg prometheus.Registerer) *kprom.Metrics {
	return kprom.NewMetrics("millrace", kprom.Subsystem("kafka"), kprom.Registerer(reg),
		kprom.FetchAndProduceDetail(kprom.ByNode, kprom.ByTopic, kprom.Batches, kprom.Records, kprom.CompressedBytes,
			kprom.UncompressedBytes),
		kprom.HistogramsFromOpts(
			kprom.HistogramOpts{Enable: kprom.ReadWait, Buckets: clientBuckets},
			kprom.HistogramOpts{Enable: kprom.ReadTime, Buckets: clientBuckets},
			kprom.HistogramOpts{Enable: kprom.WriteWait, Buckets: clientBuckets},
			kprom.HistogramOpts{Enable: kprom.WriteTime, Buckets: clientBuckets},
			kprom.HistogramOpts{Enable: kprom.RequestDurationE2E, Buckets: clientBuckets},
			kprom.HistogramOpts{Enable: kprom.RequestThrottled, Buckets: clientBuckets},
		),
	)
}

// clientBuckets are few, since each broker has them for each client.
var clientBuckets = prometheus.ExponentialBuckets(0.001, 4, 8) // 1 ms to 16 s

// backoff waits 50 ms after the first failure, twice that after the next, up to
// 1 s, each ±20 %: short against the edge's deadline.
func backoff(fails int) time.Duration {
	d := min(50*time.Millisecond<<min(fails-1, 5), time.Second)
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // jitter
}

// logger hands the client's messages to slog. What the client calls information
// is of use only to somebody who debugs it.
type logger struct{ log *slog.Logger }

// Level returns the most verbose level that would be logged.
func (l logger) Level() kgo.LogLevel {
	switch ctx := context.Background(); {
	case l.log.Enabled(ctx, slog.LevelDebug):
		return kgo.LogLevelInfo
	case l.log.Enabled(ctx, slog.LevelWarn):
		return kgo.LogLevelWarn
	}
	return kgo.LogLevelError
}

// Log writes one message.
func (l logger) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	at := slog.LevelDebug
	switch level {
	case kgo.LogLevelError:
		at = slog.LevelError
	case kgo.LogLevelWarn:
		at = slog.LevelWarn
	default:
	}
	attrs := make([]slog.Attr, 0, len(keyvals)/2)
	for i := 0; i+1 < len(keyvals); i += 2 {
		key, _ := keyvals[i].(string)
		attrs = append(attrs, slog.Any(key, keyvals[i+1]))
	}
	l.log.LogAttrs(context.Background(), at, "kafka: "+msg, attrs...) //nolint:sloglint // the client's own message
}
