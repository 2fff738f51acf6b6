package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go"

	"github.com/millrace/millrace/internal/config"
)

// maxIdle is how long a connection is kept unused; the server drops idle ones
// later than that.
const maxIdle = time.Minute

// conns keeps connections between uses. One is made when it is needed, so there
// are as many as there are uses at once.
type conns struct {
	options ch.Options

	mu     sync.Mutex
	idle   []idleConn
	closed bool
}

type idleConn struct {
	client *ch.Client
	since  time.Time
}

var errClosed = errors.New("connections to ClickHouse are closed")

func newConns(cfg config.ClickHouse) *conns { return &conns{options: Options(cfg)} }

// use runs f on a connection. After an error the connection is closed, whatever
// the error is: what else would arrive on it is unknown.
func (p *conns) use(ctx context.Context, f func(*ch.Client) error) error {
	c, err := p.take(ctx)
	if err != nil {
		return err
	}
	if err := f(c); err != nil {
		c.Close()
		return err
	}
	p.give(c)
	return nil
}

// Ping reports whether a server answers.
func (p *conns) Ping(ctx context.Context) error {
	return p.use(ctx, func(c *ch.Client) error {
		if err := c.Ping(ctx); err != nil {
			return fmt.Errorf("pinging ClickHouse: %w", err)
		}
		return nil
	})
}

// Close closes the connections that are not in use, and the others when they are
// given back.
func (p *conns) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.idle {
		c.client.Close()
	}
	p.idle = nil
	return nil
}

// take returns a connection that was used a moment ago, or a new one.
func (p *conns) take(ctx context.Context) (*ch.Client, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	for len(p.idle) > 0 {
		last := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if time.Since(last.since) < maxIdle {
			p.mu.Unlock()
			return last.client, nil
		}
		last.client.Close()
	}
	p.mu.Unlock()
	return dial(ctx, p.options)
}

func (p *conns) give(c *ch.Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || c.IsClosed() {
		c.Close()
		return
	}
	p.idle = append(p.idle, idleConn{c, time.Now()})
}
