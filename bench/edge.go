package main

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/valyala/fastjson"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/ingestapi"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/pipeline/ingest"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// serveApp serves an app until ctx ends.
func serveApp(ctx context.Context, app *fiber.App, say func(result) error) error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Listener(l) }()
	if err := say(result{Addr: l.Addr().String()}); err != nil {
		return err
	}
	<-ctx.Done()
	const patience = time.Second
	return errors.Join(app.ShutdownWithTimeout(patience), <-ended)
}

// serveBare is the limit of B1 and B3: fiber, a body that is read, a response of
// the same length as ours.
func serveBare(ctx context.Context, _ job, say func(result) error) error {
	app := fiber.New(fiber.Config{DisableStartupMessage: true, BodyLimit: event.MaxBodyBytes})
	response := []byte(`{"status":"success","type":"custom_event","count":1}`)
	app.Post("/track", func(c *fiber.Ctx) error {
		if len(c.Body()) == 0 {
			return fiber.ErrBadRequest
		}
		c.Context().Response.Header.SetContentType(fiber.MIMEApplicationJSON)
		return c.Send(response)
	})
	return serveApp(ctx, app, say)
}

// serveIntake serves the ingestion host as its daemon does until ctx ends.
func serveIntake(ctx context.Context, p parts, in ingestapi.Intake, say func(result) error) error {
	go p.gate.Run(ctx) // which only ends
	return listen(ctx, p, ingestapi.New(ingestapi.Config{Admission: p.gate}, ingestapi.Deps{
		Log: p.tel.Log, Metrics: p.tel.Registry, Tracer: p.tel.Tracer, Intake: in,
	}), say)
}

// listen serves an app as its daemon does until ctx ends.
func listen(ctx context.Context, p parts, app *fiber.App, say func(result) error) error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	// The part listens by itself; this only finds a port that is free.
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return err
	}
	component := httpkit.ListenComponent("ingest", addr, "addr", app, p.tel.Log)
	if err := component.Start(ctx); err != nil {
		return err
	}
	if err := say(result{Addr: addr}); err != nil {
		return errors.Join(err, component.Stop(ctx))
	}
	return errors.Join(component.Run(ctx), component.Stop(context.WithoutCancel(ctx)))
}

// checked is an Acceptor that is asked to judge and not to publish.
type checked struct{ *ingest.Acceptor }

// Accept implements ingestapi.Intake.
func (c checked) Accept(ctx context.Context, req ingest.Request) (ingest.Result, error) {
	count, err := c.Check(ctx, req)
	return ingest.Result{Count: count}, err
}

// serveValidate is the host with everything before records are built.
func serveValidate(ctx context.Context, _ job, say func(result) error) error {
	p := newParts()
	defer p.access.Close()
	return serveIntake(ctx, p, checked{p.acceptor(discard{})}, say)
}

// serveAccept is the whole accept path with a publisher that acknowledges at once.
func serveAccept(ctx context.Context, _ job, say func(result) error) error {
	p := newParts()
	defer p.access.Close()
	return serveIntake(ctx, p, p.acceptor(discard{}), say)
}

// serveDurable is the whole accept path with the producer.
func serveDurable(ctx context.Context, j job, say func(result) error) error {
	p := newParts()
	defer p.access.Close()
	cfg := kafkaSettings(j.Brokers)
	producer, err := kafka.NewProducer(cfg, kafka.ProducerDeps{
		Client: "bench", Deadline: config.Default().Ingest.Deadline, Log: p.tel.Log, Metrics: p.tel.Registry,
	})
	if err != nil {
		return err
	}
	err = serveIntake(ctx, p, p.acceptor(producer), say)
	return errors.Join(err, producer.Close(context.WithoutCancel(ctx)))
}

// partitions of the topics, as standalone creates them.
const partitions = 4

func kafkaSettings(brokers []string) config.Kafka {
	cfg := config.Default().Kafka
	cfg.Brokers, cfg.Partitions, cfg.Replication = brokers, partitions, 1
	return cfg
}

// serveBroker runs a broker that keeps everything in memory.
func serveBroker(ctx context.Context, j job, say func(result) error) error {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		return err
	}
	defer cluster.Close()
	cfg := kafkaSettings(cluster.ListenAddrs())
	if j.Partitions > 0 {
		cfg.Partitions = j.Partitions
	}
	if _, err := kafka.EnsureTopics(ctx, cfg); err != nil {
		return err
	}
	if err := say(result{Brokers: cluster.ListenAddrs()}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// loopParse is the limit of B2: fastjson makes a tree of the body, and nobody
// looks at it.
func loopParse(_ context.Context, j job, say func(result) error) error {
	body := trackBody(j.Batch, time.Now())
	var parser fastjson.Parser
	events, begin, cpu := 0, time.Now(), cpuTime()
	for time.Since(begin) < j.For {
		v, err := parser.ParseBytes(body)
		if err != nil {
			return err
		}
		events += len(v.GetArray())
	}
	return say(measured(events, begin, cpu))
}

// measured is a result that ends now.
func measured(events int, begin time.Time, cpuBefore time.Duration) result {
	return result{
		Events: float64(events), Seconds: time.Since(begin).Seconds(), CPUSeconds: (cpuTime() - cpuBefore).Seconds(),
	}
}

// loopProduce is the limit of B4: a bare client with the producer's settings
// sends prebuilt records as fast as it can.
func loopProduce(ctx context.Context, j job, say func(result) error) error {
	client, ready, err := bareProducer(ctx, j)
	if err != nil {
		return err
	}
	defer client.Close()
	var failed error
	var once sync.Once
	promise := func(_ *kgo.Record, err error) {
		if err != nil {
			once.Do(func() { failed = err })
		}
	}
	events, begin, cpu := 0, time.Now(), cpuTime()
	for time.Since(begin) < j.For {
		for range 100 {
			r := ready[events%len(ready)] // a copy: the client writes to what it sends
			client.Produce(ctx, &r, promise)
			events++
		}
	}
	if err := errors.Join(client.Flush(ctx), failed); err != nil {
		return err
	}
	return say(measured(events, begin, cpu))
}

// bareProducer returns a client with the producer's settings, and records.
func bareProducer(ctx context.Context, j job) (*kgo.Client, []kgo.Record, error) {
	const distinct = 10_000
	r := newRecorder()
	defer r.close()
	records, err := r.records(ctx, 0, distinct, 1)
	if err != nil {
		return nil, nil, err
	}
	cfg := kafkaSettings(j.Brokers)
	opts, err := kafka.ClientOptions(cfg, "bench", telemetry.Discard().Log, nil)
	if err != nil {
		return nil, nil, err
	}
	client, err := kgo.NewClient(append(opts,
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerBatchCompression(kgo.Lz4Compression()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.ProducerLinger(cfg.Linger),
	)...)
	if err != nil {
		return nil, nil, err
	}
	ready := make([]kgo.Record, len(records))
	for i := range records {
		ready[i] = kgo.Record{
			Topic: records[i].Topic, Key: records[i].Key, Value: records[i].Value, Timestamp: records[i].Time,
		}
		for _, h := range records[i].Headers {
			ready[i].Headers = append(ready[i].Headers, kgo.RecordHeader(h))
		}
	}
	return client, ready, nil
}
