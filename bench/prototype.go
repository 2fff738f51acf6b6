package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/valyala/fastjson"

	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/event"
	"github.com/millrace/millrace/internal/kafka"
	"github.com/millrace/millrace/internal/record"
	"github.com/millrace/millrace/internal/telemetry"
)

// servePrototype is the limit of B5: the edge that somebody writes in an
// afternoon. Plain fiber, fastjson, records with our envelope and headers, an
// answer once the broker has them; no key, limit, quota, validation or metric.
func servePrototype(ctx context.Context, j job, say func(result) error) error {
	t := telemetry.Discard()
	producer, err := kafka.NewProducer(kafkaSettings(j.Brokers), kafka.ProducerDeps{
		Client: "bench", Deadline: config.Default().Ingest.Deadline, Log: t.Log, Metrics: t.Registry,
	})
	if err != nil {
		return err
	}
	app := fiber.New(fiber.Config{DisableStartupMessage: true, BodyLimit: event.MaxBodyBytes})
	app.Post("/track", func(c *fiber.Ctx) error {
		p, _ := prototypes.Get().(*prototype)
		defer prototypes.Put(p)
		n, err := p.read(c.Body())
		if err != nil {
			return fiber.ErrBadRequest
		}
		if err := producer.Publish(c.UserContext(), p.records.Records()); err != nil {
			return fiber.ErrServiceUnavailable
		}
		c.Context().Response.Header.SetContentType(fiber.MIMEApplicationJSON)
		p.answer = append(p.answer[:0], `{"status":"success","type":"custom_event","count":`...)
		p.answer = append(strconv.AppendInt(p.answer, int64(n), 10), '}')
		return c.Send(p.answer)
	})
	err = serveApp(ctx, app, say)
	return errors.Join(err, producer.Close(context.WithoutCancel(ctx)))
}

// prototype is the memory of one request.
type prototype struct {
	parser     fastjson.Parser
	records    record.Batch
	properties []byte
	answer     []byte
}

var prototypes = sync.Pool{New: func() any { return new(prototype) }}

var prototypeSalt = make([]byte, 32)

// read makes records of a body's events, which it takes as they are.
func (p *prototype) read(body []byte) (events int, err error) {
	v, err := p.parser.ParseBytes(body)
	if err != nil {
		return 0, err
	}
	p.records.Reset(record.Receipt{
		Organization: benchOrganization, RequestID: uuid.NewString(), At: time.Now(), VisitorSalt: prototypeSalt,
	})
	list, err := v.Array()
	if err != nil {
		list = []*fastjson.Value{v}
	}
	for _, e := range list {
		p.properties = e.Get("properties").MarshalTo(p.properties[:0])
		p.records.Add(&event.Event{
			Name: e.GetStringBytes("name"), EventID: e.GetStringBytes("eventId"), Path: e.GetStringBytes("path"),
			AnonymousID: e.GetStringBytes("anonymousId"), ProfileID: e.GetStringBytes("profileId"), SessionID: e.GetStringBytes("sessionId"),
			Namespace: e.GetStringBytes("namespace"), Source: e.GetStringBytes("source"), Properties: p.properties,
			TimeMillis: e.GetInt64("timestamp"), HasTime: true, Plain: true,
		}, record.Target{Website: benchWebsite}, nil)
	}
	return len(list), nil
}
