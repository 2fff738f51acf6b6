package sink

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/millrace/millrace/internal/adapter/clickhouse/insert"
	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// pipeline is a way from topics into tables that is kept apart from the others: its
// own consumer group, budget of memory, and epoch of insert tokens, which is a
// topic's.
type pipeline struct {
	name   string // as in sink.lanes, and as metrics call it
	topics []string
	// settings are what differs from the live pipeline's.
	settings func(config.Sink) config.Sink
	// paced says that the pipeline leaves most of the server to the others.
	paced bool
}

// pipelines lists them.
var pipelines = []pipeline{
	{
		name: "live", topics: []string{record.TopicEvents},
		settings: func(c config.Sink) config.Sink { return c },
	},
	{
		name: "backfill", topics: []string{record.TopicEventsBackfill}, paced: true,
		settings: backfill,
	},
	{name: "web", topics: kafka.WebTopics, settings: web},
	{name: "clicks", topics: kafka.ClickTopics, settings: clicks},
	{name: "exposures", topics: kafka.ExposureTopics, settings: exposures},
}

// backfillWait is how long a record of the backfill pipeline waits for others: its
// ranges are spread over many months, and the larger the range, the fewer the
// inserts.
const backfillWait = 5 * time.Second

// backfill makes the backfill pipeline's settings of the live pipeline's: a group of its
// own, one insert at a time, and a quarter of the memory.
func backfill(c config.Sink) config.Sink {
	c.Group = kafka.BackfillGroup(c.Group)
	c.Connections = 1
	c.MaxWait = max(c.MaxWait, backfillWait)
	c.MaxMemory = max(c.MaxMemory/4, leastMemory)
	c.WindowMemory = max(c.WindowMemory/4, leastMemory)
	return c
}

// The web pipeline's ranges are small and many: each of its topics has as many
// partitions as events have. So its records wait for others too, and few inserts
// and little memory are left to it: what it stores is never much of the whole.
const (
	webWait  = 2 * time.Second
	webRows  = 16_384
	webBytes = 8 << 20
)

// web makes the web pipeline's settings of the live pipeline's: a group of its own, one
// insert at a time, and an eighth of the memory.
func web(c config.Sink) config.Sink {
	c.Group = kafka.WebGroup(c.Group)
	c.Connections = 1
	c.MaxWait = max(c.MaxWait, webWait)
	c.MaxRows, c.MaxBytes = min(c.MaxRows, webRows), min(c.MaxBytes, webBytes)
	c.MaxMemory = max(c.MaxMemory/8, leastMemory)
	c.WindowMemory = max(c.WindowMemory/4, leastMemory)
	return c
}

// clicks makes the settings of the pipeline of clicks: those of the web pipeline, but for the
// group, half of the memory, and the wait, for whoever opens a short link looks for the
// click right after.
func clicks(c config.Sink) config.Sink {
	wait := c.MaxWait
	group := kafka.ClickGroup(c.Group)
	c = web(c)
	c.Group, c.MaxWait = group, wait
	c.MaxMemory = max(c.MaxMemory/2, leastMemory)
	c.WindowMemory = max(c.WindowMemory/2, leastMemory)
	return c
}

// exposures makes the settings of the pipeline of exposures: those of the web pipeline, but for the
// group and half of the memory. Nobody looks for an exposure within its seconds.
func exposures(c config.Sink) config.Sink {
	group := kafka.ExposureGroup(c.Group)
	c = web(c)
	c.Group = group
	c.MaxMemory = max(c.MaxMemory/2, leastMemory)
	c.WindowMemory = max(c.WindowMemory/2, leastMemory)
	return c
}

// leastMemory is the lower end of the settings' range.
const leastMemory = 8 << 20

// pipelinesOf returns the pipelines that the settings name.
func pipelinesOf(cfg config.Sink) []pipeline {
	return slices.DeleteFunc(slices.Clone(pipelines), func(l pipeline) bool { return !slices.Contains(cfg.Lanes, l.name) })
}

// running is a pipeline's components.
type running struct {
	pipeline
	cfg      config.Sink
	consumer *kafka.Consumer
	inserter *insert.Inserter
	sink     *sink.Sink
}

// build makes a pipeline's components; they connect when they run.
func (l pipeline) build(
	s config.Settings, t *telemetry.Telemetry, ledger *ledgerstore.Ledger, erased sink.Tombstones, w Wiring,
) (running, error) {
	cfg := l.settings(s.Sink)
	metrics := prometheus.WrapRegistererWith(prometheus.Labels{"lane": l.name}, t.Registry)
	log := t.Log.With(slog.String("lane", l.name))
	consumer, err := kafka.NewConsumer(s.Kafka, cfg, l.topics, kafka.ConsumerDeps{
		Client: Component + "-" + l.name, Log: log, Metrics: t.Registry, Fence: w.Fence,
	})
	if err != nil {
		return running{}, fmt.Errorf("sink: %w", err)
	}
	inserter := insert.NewInserter(s.ClickHouse, "")
	inserter.Bound(sendable(cfg.MaxMemory))
	metrics.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "millrace_sink_known_inserts_total",
		Help: "Acknowledged inserts whose token ClickHouse already knew, in the table or in a rollup. ClickHouse did not " +
			"store them there again.",
	}, func() float64 { return float64(inserter.Known()) }), prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "millrace_sink_lost_inserts_total",
		Help: "Inserts whose token ClickHouse had recorded without storing their rows, because it was killed between the " +
			"two steps. The sink sends them again with another token and lists their days as dirty.",
	}, func() float64 { return float64(inserter.Lost()) }))
	deps := sink.Deps{
		Log: log, Metrics: metrics, Tracer: t.Tracer, Source: consumer, Reader: consumer, Inserter: inserter,
		DeadLetters: consumer,
		Ledger:      ledger, Tombstones: erased,
	}
	if l.paced {
		deps.Pacer = newPacer(cfg, inserter, metrics)
	}
	worker, err := sink.New(cfg, w.deps(deps))
	if err != nil {
		return running{}, err
	}
	return running{pipeline: l, cfg: cfg, consumer: consumer, inserter: inserter, sink: worker}, nil
}

// pressed tells how many parts the fullest partition of a table has.
type pressed interface {
	PartPressure(ctx context.Context) (parts int, err error)
}

// pacer keeps a pipeline below a rate, and waits while the server is behind with its
// merges.
type pacer struct {
	limit    *rate.Limiter
	server   pressed
	maxParts int
	waiting  prometheus.Gauge
}

// pressureEvery is how often a server that is behind is asked again.
const pressureEvery = 2 * time.Second

func newPacer(cfg config.Sink, server pressed, reg prometheus.Registerer) *pacer {
	p := &pacer{
		limit:  rate.NewLimiter(rate.Limit(cfg.Backfill.Rate), max(cfg.Backfill.Rate, cfg.MaxRows)),
		server: server, maxParts: cfg.Backfill.MaxParts,
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_sink_throttled", Help: "1 while the lane waits for merges because sink.backfill.max_parts is " +
				"reached.",
		}),
	}
	reg.MustRegister(p.waiting)
	return p
}

// Pace implements sink.Pacer. A server that cannot be asked holds nothing up: the
// insert will find out.
func (p *pacer) Pace(ctx context.Context, records int) error {
	defer p.waiting.Set(0)
	for {
		parts, err := p.server.PartPressure(ctx)
		if err != nil || parts < p.maxParts {
			break
		}
		p.waiting.Set(1)
		select {
		case <-time.After(pressureEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := p.limit.WaitN(ctx, records); err != nil {
		return fmt.Errorf("waiting for the rate limit: %w", err)
	}
	return nil
}

// sendable is how many bytes of blocks are sent at the same time by a process that may hold so
// many bytes of records: 48 MiB of the default. While they are sent they exist twice more.
func sendable(maxMemory int) int64 { return int64(maxMemory) * 3 / 14 }
