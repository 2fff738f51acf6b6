package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// servePrototype is the limit of B5: an edge of which everything is left out that costs and is
// not seen in a record. Plain fiber, the same decoder, envelope, headers and producer, a
// response once the broker has them; no key, limit, quota, metric, request id or deadline. With
// fastjson instead of the decoder it is slower.
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
		p.response = append(p.response[:0], `{"status":"success","type":"custom_event","count":`...)
		p.response = append(strconv.AppendInt(p.response, int64(n), 10), '}')
		return c.Send(p.response)
	})
	err = serveApp(ctx, app, say)
	return errors.Join(err, producer.Close(context.WithoutCancel(ctx)))
}

// prototype is the memory of one request.
type prototype struct {
	decoder  event.Decoder
	records  record.Batch
	response []byte
}

var prototypes = sync.Pool{New: func() any { return new(prototype) }}

var prototypeSalt = make([]byte, 32)

// prototypeRequest is as long as the id of a request is.
const prototypeRequest = "018f3a5c-0000-7abc-8def-000000000000"

// read makes records of a body's events, for whoever sent them.
func (p *prototype) read(body []byte) (events int, err error) {
	all, err := p.decoder.Decode(body)
	if err != nil {
		return 0, err
	}
	p.records.Reset(record.Receipt{
		Organization: benchOrganization, RequestID: prototypeRequest, At: time.Now(), VisitorSalt: prototypeSalt,
	})
	for i := range all {
		p.records.Add(&all[i], record.Target{Website: benchWebsite}, nil)
	}
	return len(all), nil
}
