package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go"

	"github.com/millrace/millrace/internal/platform/config"
)

// maxIdle is how long a connection is kept unused; the server drops idle ones
// later than that.
const maxIdle = time.Minute

// Pool keeps connections between uses. One is made when it is needed, so there
// are as many as there are uses at once.
type Pool struct {
	cfg  config.ClickHouse
	keep int64 // bytes of blocks that idle ones may keep memory for; 0 for any

	mu     sync.Mutex
	idle   []idleConn
	closed bool
}

type idleConn struct {
	client *Client
	addr   string
	since  time.Time
}

// ErrClosed means that the Pool was closed.
var ErrClosed = errors.New("connections to ClickHouse are closed")

// NewPool returns a Pool of connections to the servers of cfg; it opens none.
func NewPool(cfg config.ClickHouse) *Pool { return &Pool{cfg: cfg} }

// KeepFor has connections that wait keep memory for blocks of so many bytes together at most.
// It is called before the first use.
func (p *Pool) KeepFor(bytes int64) { p.keep = bytes }

// Use runs f on a connection. After an error or a panic the connection is closed, whatever
// the error is: what else would arrive on it is unknown.
func (p *Pool) Use(ctx context.Context, f func(*Client) error) error { return p.UseFor(ctx, 0, f) }

// UseFor is Use for a block of so many bytes.
func (p *Pool) UseFor(ctx context.Context, bytes int64, f func(*Client) error) error {
	return p.UseAt(ctx, bytes, func(c *Client, _ string) error { return f(c) })
}

// ErrUnreached means that no address could be connected to, so that nothing was asked.
var ErrUnreached = errors.New("no server accepted a connection")

// UseAt is UseFor that tells the connection's address.
func (p *Pool) UseAt(ctx context.Context, bytes int64, f func(*Client, string) error) error {
	c, addr, err := p.take(ctx, bytes)
	switch {
	case err == nil:
	case ctx.Err() != nil, errors.Is(err, ErrClosed):
		return err
	default:
		return fmt.Errorf("%w: %w", ErrUnreached, err)
	}
	c.sent = max(c.sent, bytes)
	whole := false
	defer func() { // also where f panics
		if whole {
			p.release(c, addr)
		} else {
			c.Close()
		}
	}()
	err = f(c, addr)
	if whole = err == nil; Broken(err) {
		p.forget(addr)
	}
	return err
}

// Broken reports whether a connection ended without a response. A time-out is none of it.
func Broken(err error) bool {
	failed, isNet := errors.AsType[*net.OpError](err)
	return isNet && !failed.Timeout() || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, ch.ErrClosed)
}

// forget closes the connections to an address that are not in use: one broke, so the server
// was perhaps started again, and whoever took one of the others would find it broken too, one
// after the other.
func (p *Pool) forget(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = slices.DeleteFunc(p.idle, func(i idleConn) bool {
		if i.addr != addr {
			return false
		}
		i.client.Close()
		return true
	})
}

// Ping reports whether a server answers.
func (p *Pool) Ping(ctx context.Context) error {
	return p.Use(ctx, func(c *Client) error {
		if err := c.Ping(ctx); err != nil {
			return fmt.Errorf("pinging ClickHouse: %w", err)
		}
		return nil
	})
}

// Close closes the connections that are not in use, and the others after their use.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.idle {
		c.client.Close()
	}
	p.idle = nil
	return nil
}

// take returns a connection that was used a moment ago, or a new one. One to another
// address than the process uses now is closed.
func (p *Pool) take(ctx context.Context, bytes int64) (*Client, string, error) {
	order := reachable.order(p.cfg)
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, "", ErrClosed
	}
	for len(p.idle) > 0 {
		at := p.fitting(bytes)
		last := p.idle[at]
		p.idle = slices.Delete(p.idle, at, at+1)
		if time.Since(last.since) < maxIdle && last.addr == order[0] {
			p.mu.Unlock()
			return last.client, last.addr, nil
		}
		last.client.Close()
	}
	p.mu.Unlock()
	return dialAny(ctx, p.cfg)
}

// fitting returns the idle connection to take for a block: of those that have memory for it
// the one with least, else the one with most, which then grows; of equal ones the one that
// was used last. Otherwise small blocks would take the large one's, and each would grow.
func (p *Pool) fitting(bytes int64) (best int) {
	for i := range p.idle {
		have, most := p.idle[i].client.sent, p.idle[best].client.sent
		if fits := have >= bytes; fits && (most < bytes || have <= most) || !fits && most < bytes && have >= most {
			best = i
		}
	}
	return best
}

// keeps reports whether a connection may wait with its memory beside those that do.
func (p *Pool) keeps(c *Client) bool {
	bytes := c.sent
	for _, i := range p.idle {
		bytes += i.client.sent
	}
	return p.keep == 0 || bytes <= p.keep
}

func (p *Pool) release(c *Client, addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || c.IsClosed() || !p.keeps(c) {
		c.Close()
		return
	}
	p.idle = append(p.idle, idleConn{c, addr, time.Now()})
}
