package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/insert"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/embedded/chserver"
	"github.com/millrace/millrace/internal/adapter/kafka"
	appsink "github.com/millrace/millrace/internal/app/sink"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// websites that the sink's records belong to: enough to use every partition.
const websites = 200

// serveClickHouse runs a ClickHouse server.
func serveClickHouse(ctx context.Context, _ job, say func(result) error) error {
	dir, err := os.MkdirTemp("", "millrace-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	server, err := chserver.Start(ctx, chserver.Config{
		Listen: "127.0.0.1:0", HTTPListen: "127.0.0.1:0", Dir: dir, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer server.Close()
	if err := say(result{ClickHouse: server.Addr()}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// fillTopic publishes the records that the sink's runs read.
func fillTopic(ctx context.Context, j job, say func(result) error) error {
	t := telemetry.Discard()
	producer, err := kafka.NewProducer(kafkaSettings(j.Brokers), kafka.ProducerDeps{
		Client: "bench", Deadline: time.Minute, Log: t.Log, Metrics: t.Registry,
	})
	if err != nil {
		return err
	}
	const step = 20_000
	r := newRecorder()
	defer r.close()
	begin, cpu := time.Now(), cpuTime()
	for first := 0; first < j.Rows; first += step {
		recs, err := r.records(ctx, first, min(step, j.Rows-first), websites)
		if err == nil {
			j.spoil(recs)
			err = producer.Publish(ctx, recs)
		}
		if err != nil {
			return err
		}
	}
	if err := producer.Close(ctx); err != nil {
		return err
	}
	return say(measured(j.Rows, begin, cpu))
}

// spoil makes some of the records dead letters, if the job is to: not so many that
// the sink would take it for a fault of its own.
func (j job) spoil(recs []record.Record) {
	const every = 120
	if j.Role != "spoil" {
		return
	}
	for i := 0; i < len(recs); i += every {
		recs[i].Value = []byte("no envelope")
	}
}

// read hands the topic's records to a function until it has had n of them.
func read(ctx context.Context, brokers []string, n int, each func(*kgo.Record) error) error {
	cfg := kafkaSettings(brokers)
	opts, err := kafka.ClientOptions(cfg, "bench", telemetry.Discard().Log, nil)
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(append(opts,
		kgo.ConsumeTopics(kafka.TopicName(cfg, record.TopicEvents)),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)...)
	if err != nil {
		return err
	}
	defer client.Close()
	for got := 0; got < n; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if err == nil && got < n {
				err = each(r)
			}
			got++
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// loopConsume has a bare client read the topic, and nobody looks at the records.
func loopConsume(ctx context.Context, j job, say func(result) error) error {
	seen, begin, cpu := 0, time.Time{}, time.Duration(0)
	first := j.Rows / tenth
	err := read(ctx, j.Brokers, j.Rows, func(*kgo.Record) error {
		if seen++; seen == first {
			begin, cpu = time.Now(), cpuTime()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return say(measured(j.Rows-first, begin, cpu))
}

// tenth is the part of the rows before a consuming measure begins, and after the
// sink's ends: connecting and joining the group is not what is measured.
const tenth = 10

// clickHouse are the settings of the job's database.
func (j job) clickHouse() config.ClickHouse {
	cfg := config.Default().ClickHouse
	cfg.Addr, cfg.Database = []string{j.ClickHouse}, j.Database
	return cfg
}

// table makes the job's database, with a table that keeps its rows or not.
func (j job) table(ctx context.Context) error {
	cfg := j.clickHouse()
	if err := schema.Migrate(ctx, cfg); err != nil {
		return err
	}
	if !j.Null {
		return nil
	}
	// Nor do the views make anything of what the table does not keep.
	drop := []string{"DROP TABLE events SYNC", schema.Tables[0].NullSQL("events")}
	for _, v := range schema.Views {
		drop = append([]string{"DROP VIEW " + v.Name + " SYNC"}, drop...)
	}
	return execute(ctx, cfg, drop...)
}

func execute(ctx context.Context, cfg config.ClickHouse, statements ...string) error {
	c, err := clickhouse.Dial(ctx, cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, s := range statements {
		if err := c.Do(ctx, ch.Query{Body: s}); err != nil {
			return fmt.Errorf("executing %.40s: %w", s, err)
		}
	}
	return nil
}

// loopInsert is the limit of S1: the inserter stores blocks that were built
// beforehand from the topic's records, each different, over as many connections
// as the sink has.
func loopInsert(ctx context.Context, j job, say func(result) error) error {
	if err := j.table(ctx); err != nil {
		return err
	}
	cfg := config.Default().Sink
	inserter := insert.NewInserter(j.clickHouse(), "")
	defer inserter.Close()
	var blocks []sink.Block
	var decoder record.Decoder
	var ev record.Event
	err := read(ctx, j.Brokers, j.Rows, func(r *kgo.Record) error {
		if len(blocks) == 0 || blocks[len(blocks)-1].Rows() == cfg.MaxRows {
			blocks = append(blocks, inserter.NewBlock(record.TopicEvents))
		}
		if err := decoder.DecodeEvent(r.Value, &ev); err != nil {
			return err
		}
		blocks[len(blocks)-1].Append(&sink.Row{
			Event: &ev, Hash: record.HashOf(ev.Owner, ev.ID), Topic: []byte(record.TopicEvents),
			Partition: r.Partition, Offset: r.Offset,
		})
		return nil
	})
	if err != nil {
		return err
	}
	work := make(chan int, len(blocks))
	for i := range blocks {
		work <- i
	}
	close(work)
	errs := make([]error, cfg.Connections)
	begin, cpu := time.Now(), cpuTime()
	var all sync.WaitGroup
	for w := range cfg.Connections {
		all.Go(func() {
			for i := range work {
				errs[w] = errors.Join(errs[w], inserter.Insert(ctx, blocks[i], fmt.Sprintf("limit-%d", i)))
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return say(measured(j.Rows, begin, cpu))
}

// loopSink runs the sink, as the daemon does, and measures from the first tenth
// of the records to the last one: both ends of the interval are the end of an
// insert, with others under way. What is left out besides the start are the last
// ranges of the topic, which are not full and wait for the trigger of time.
func loopSink(ctx context.Context, j job, say func(result) error) error {
	if err := j.table(ctx); err != nil {
		return err
	}
	s, err := j.startSink(ctx)
	if err != nil {
		return err
	}
	begin, cpu, first := time.Time{}, time.Duration(0), 0
	return s.watch(ctx, func() (bool, error) {
		stored, err := counter(s.registry, "millrace_sink_records_total", "stored")
		if err != nil {
			return false, err
		}
		if first == 0 && stored >= j.Rows/tenth {
			restoring, err := counter(s.registry, "millrace_sink_restoring", "")
			if err != nil || restoring > 0 {
				return false, err // windows are being read still
			}
			first, begin, cpu = stored, time.Now(), cpuTime()
		}
		if first == 0 || stored < j.Rows-j.Rows/tenth {
			return false, nil
		}
		r := measured(stored-first, begin, cpu)
		if r.PeakBytes, err = peakBytes(); err != nil {
			return false, err
		}
		keys, err := counter(s.registry, "millrace_sink_window_keys", "")
		r.Keys = float64(keys)
		return true, errors.Join(err, say(r))
	})
}

// runningSink is the daemon's sink in this process.
type runningSink struct {
	registry prometheus.Gatherer
	stop     context.CancelFunc
	ended    chan error
}

// startSink runs the live pipeline under a group of the job's own, which begins where
// the filled topic says.
func (j job) startSink(ctx context.Context) (*runningSink, error) {
	s := config.Default()
	s.Kafka, s.ClickHouse, s.Sink.Group, s.Sink.Lanes = kafkaSettings(j.Brokers), j.clickHouse(),
		j.Database, []string{"live"}
	if err := j.beginBehindSeen(ctx, s); err != nil {
		return nil, err
	}
	t, ready := telemetry.Discard(), &lifecycle.Readiness{}
	build := appsink.Alone
	if j.Blind || j.Null {
		build = j.built
	}
	list, err := build(ctx, s, t, ready)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	r := &runningSink{registry: t.Registry, stop: stop, ended: make(chan error, 1)}
	go func() {
		r.ended <- lifecycle.Run(ctx, lifecycle.Options{Log: t.Log, Readiness: ready, Grace: s.Shutdown.Grace}, list...)
	}()
	return r, nil
}

// built is the daemon without a window, or on tables that keep nothing.
func (j job) built(
	ctx context.Context, s config.Settings, t *telemetry.Telemetry, r *lifecycle.Readiness,
) ([]lifecycle.Component, error) {
	var w appsink.Wiring
	if j.Blind {
		s.Sink.Window = 0
	}
	if j.Null {
		w.Exact = func(context.Context, config.ClickHouse) schema.Findings { return schema.Findings{{}} }
	}
	return appsink.Build(ctx, s, t, r, w)
}

// watch looks until it is done, then stops the sink.
func (r *runningSink) watch(ctx context.Context, done func() (bool, error)) error {
	// A look gathers all metrics, which takes 0.2 ms of what is measured.
	const look = 25 * time.Millisecond
	tick := time.NewTicker(look)
	defer tick.Stop()
	defer r.stop()
	for {
		select {
		case err := <-r.ended:
			return fmt.Errorf("the sink ended early: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if over, err := done(); over || err != nil {
			r.stop()
			return errors.Join(err, <-r.ended)
		}
	}
}

// counter sums the samples of a counter or gauge that carry a label value; all of
// them, if it is empty.
func counter(reg prometheus.Gatherer, name, label string) (int, error) {
	families, err := reg.Gather()
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if label == "" || slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == label }) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return int(sum), nil
}
