package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"time"

	"github.com/millrace/millrace/internal/api/ingestapi"
)

// What the accept path may allocate for an event that comes alone, and for one of a
// hundred, the Kafka client left out. The little that is added is what the runtime
// allocates meanwhile.
const (
	allowedAllocs    = 2.05
	allowedAllocs100 = 0.1
	leastAllocs      = 0.001 // none at all, as a figure that something can be divided by
)

// loopAllocs counts what the whole accept path allocates, from a request's bytes to
// its response's, without a socket and without Kafka.
func loopAllocs(_ context.Context, j job, say func(result) error) error {
	const warm, counted = 2_000, 20_000
	p := newParts()
	defer p.access.Close()
	app := ingestapi.New(ingestapi.Config{Admission: p.gate}, ingestapi.Deps{
		Log: p.tel.Log, Metrics: p.tel.Registry, Tracer: p.tel.Tracer, Intake: p.acceptor(discard{}),
	})
	app.Handler() // builds the routes
	request := trackRequest("127.0.0.1", j.Batch)
	serve := func(n int) (mallocs uint64, err error) {
		var before, after runtime.MemStats
		conn := &repeated{request: request, left: n}
		runtime.ReadMemStats(&before)
		err = app.Server().ServeConn(conn)
		runtime.ReadMemStats(&after)
		if err == nil && conn.answered != n {
			err = fmt.Errorf("%d of %d requests were accepted", conn.answered, n)
		}
		return after.Mallocs - before.Mallocs, err
	}
	if _, err := serve(warm); err != nil {
		return err
	}
	mallocs, err := serve(counted)
	if err != nil {
		return err
	}
	return say(result{Events: max(leastAllocs, float64(mallocs)/float64(counted*j.Batch)), Seconds: 1})
}

// repeated is a connection on which one request arrives over and over.
type repeated struct {
	request  []byte
	left, at int
	answered int
}

func (c *repeated) Read(p []byte) (int, error) {
	if c.at == len(c.request) {
		c.left--
		c.at = 0
	}
	if c.left == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.request[c.at:])
	c.at += n
	return n, nil
}

func (c *repeated) Write(p []byte) (int, error) {
	c.answered += bytes.Count(p, []byte("HTTP/1.1 200 "))
	return len(p), nil
}

func (*repeated) Close() error                     { return nil }
func (*repeated) SetDeadline(time.Time) error      { return nil }
func (*repeated) SetReadDeadline(time.Time) error  { return nil }
func (*repeated) SetWriteDeadline(time.Time) error { return nil }
func (*repeated) LocalAddr() net.Addr              { return here }
func (*repeated) RemoteAddr() net.Addr             { return here }

var here net.Addr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
