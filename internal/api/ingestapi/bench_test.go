package ingestapi_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/ingestapi"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ingest"
	"github.com/millrace/millrace/internal/privacy/salt"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
)

const sampleEvent = `{"name":"purchase_completed","eventId":"3f2b8c1e-7a64-4d5e-9b1a-0c2d3e4f5a6b",` +
	`"path":"https://shop.example.com/checkout/thank-you?ref=newsletter","anonymousId":"anon_5f0c1f0e-3b1a-4c58-9f2e-7a1b2c3d4e5f",` +
	`"sessionId":"sess_9d8c7b6a-5f4e-4d3c-8b2a-1f0e9d8c7b6a","namespace":"shop","source":"web",` +
	`"properties":{"currency":"EUR","value":129.95,"items":3,"coupon":"SPRING","plan":"pro","experiment":"checkout-b","first":true}}`

// openDoor lets everyone in, for one website, and publishes nowhere: what is
// measured is the accept path itself.
type openDoor struct{}

var theWebsite = &website.Website{
	Record:   managed.Record{ID: "web_01HZXYZXYZXYZXYZXYZXYZXYZX", OrganizationID: "org_01HZXYZXYZXYZXYZXYZXYZXYZX"},
	ClientID: "client",
}

func (openDoor) Key(context.Context, []byte, auth.From) (auth.Principal, error) {
	return auth.Principal{
		Kind: auth.KindKey, OrganizationID: theWebsite.OrganizationID, Scopes: auth.AllScopes(), WebsiteID: theWebsite.ID,
	}, nil
}

func (openDoor) ClientWebsite(context.Context, string) (*website.Website, error) {
	return theWebsite, nil
}

func (openDoor) Website(context.Context, string) (*website.Website, error) { return theWebsite, nil }

func (openDoor) Remembered(string) *website.Website { return theWebsite }

func (openDoor) Salt(context.Context, time.Time) ([]byte, error) { return make([]byte, 32), nil }
func (openDoor) PruneSalts(context.Context, time.Time) error     { return nil }
func (openDoor) Publish(context.Context, []record.Record) error  { return nil }

// replay is a connection on which the same request arrives n times.
type replay struct {
	net.Conn // nil: only the methods below are called
	request  []byte
	n, at    int
	answered int
}

func (c *replay) Read(p []byte) (int, error) {
	if c.at == len(c.request) {
		if c.n--; c.n <= 0 {
			return 0, io.EOF
		}
		c.at = 0
	}
	n := copy(p, c.request[c.at:])
	c.at += n
	return n, nil
}

func (c *replay) Write(p []byte) (int, error) {
	c.answered += bytes.Count(p, []byte(" 200 OK"))
	return len(p), nil
}
func (*replay) Close() error                     { return nil }
func (*replay) SetDeadline(time.Time) error      { return nil }
func (*replay) SetReadDeadline(time.Time) error  { return nil }
func (*replay) SetWriteDeadline(time.Time) error { return nil }
func (*replay) RemoteAddr() net.Addr             { return here }

func (*replay) LocalAddr() net.Addr { return here }

var here net.Addr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}

func newReplay(events, n int) *replay {
	body := sampleEvent
	if events > 1 {
		body = "[" + strings.Repeat(sampleEvent+",", events-1) + sampleEvent + "]"
	}
	return &replay{n: n, request: fmt.Appendf(nil, "POST /track HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
		"X-Api-Key: mlr_000000000000000000000000000000000000000000000000\r\nContent-Length: %d\r\n\r\n%s", len(body), body)}
}

// BenchmarkTrack measures one request from its bytes to its response's, without a
// socket and without Kafka.
func BenchmarkTrack(b *testing.B) {
	for _, events := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("%d events", events), func(b *testing.B) {
			log := slog.New(slog.DiscardHandler)
			app := ingestapi.New(ingestapi.Config{}, ingestapi.Deps{
				Log: log, Metrics: prometheus.NewRegistry(), Intake: ingest.New(ingest.Deps{
					Access: openDoor{}, Salts: salt.New(openDoor{}, log, nil), Publisher: openDoor{},
					Metrics: prometheus.NewRegistry(),
				}),
			})
			app.Handler() // builds the routes
			conn := newReplay(events, b.N)
			b.ReportAllocs()
			b.ResetTimer()
			if err := app.Server().ServeConn(conn); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			if conn.answered != b.N {
				b.Fatalf("%d of %d requests were accepted", conn.answered, b.N)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
		})
	}
}
