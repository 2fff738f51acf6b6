package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/ch-go"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/credential"
)

const (
	clientName = "millrace"
	// tlsKey begins the keys of the settings of encryption.
	tlsKey = "clickhouse.tls"
	// authenticationFailed is the server's code for a user or a password.
	authenticationFailed = 516
)

// Client is a connection, for one statement at a time.
type Client struct {
	*ch.Client

	sent int64 // bytes of the largest block: what it keeps memory for
}

// cancelTime is how long a server has to note that it is no longer waited for.
const cancelTime = 2 * time.Second

// Do runs a statement and returns soon after ctx has ended, whatever the server does.
func (c *Client) Do(ctx context.Context, q ch.Query) error {
	return c.until(ctx, func() error { return c.Client.Do(ctx, q) })
}

// Ping asks for a sign of life and returns soon after ctx has ended, with one or without.
func (c *Client) Ping(ctx context.Context) error {
	return c.until(ctx, func() error { return c.Client.Ping(ctx) })
}

// until runs f, which waits for a server's packets, and closes the connection when f goes
// on after ctx has ended. The library notes that only between two packets: a server that
// hangs sends none, and neither does one that never got the statement, because ctx ended
// before it was sent.
func (c *Client) until(ctx context.Context, f func() error) error {
	done := make(chan struct{})
	defer close(done)
	var settled atomic.Bool // by f or by the end of ctx, whichever is first
	defer context.AfterFunc(ctx, func() {
		select {
		case <-done:
		case <-time.After(patience(ctx)):
			if settled.CompareAndSwap(false, true) {
				_ = c.Close() // nobody waits for what it says
			}
		}
	})()
	err := f()
	if settled.CompareAndSwap(false, true) {
		return err
	}
	return errors.Join(ctx.Err(), err)
}

// patience is how long a server has after the end of ctx; none where it hangs.
func patience(ctx context.Context) time.Duration {
	if errors.Is(context.Cause(ctx), ErrHangs) {
		return 0
	}
	return cancelTime
}

// Dial connects to one of the servers of cfg: native protocol, LZ4, the database
// selected. It tries every address once, those that failed a moment ago last, each
// for the time of clickhouse.dial_timeout at most. A read waits as long as its
// context allows: an insert may be silent for longer than any fixed packet timeout.
func Dial(ctx context.Context, cfg config.ClickHouse) (*Client, error) {
	c, _, err := dialAny(ctx, cfg)
	return c, err
}

// Ping reports whether a server of cfg accepts connections for the database.
func Ping(ctx context.Context, cfg config.ClickHouse) error {
	c, err := Dial(ctx, cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Ping(ctx); err != nil {
		return fmt.Errorf("pinging ClickHouse: %w", err)
	}
	return nil
}

// ErrNoAddress means that the settings name no server.
var ErrNoAddress = errors.New("clickhouse.addr is empty")

// dialAny is Dial that tells the address.
func dialAny(ctx context.Context, cfg config.ClickHouse) (*Client, string, error) {
	order := reachable.order(cfg)
	if len(order) == 0 {
		return nil, "", ErrNoAddress
	}
	var errs []error
	for i, addr := range order {
		c, err := DialAddr(ctx, cfg, addr, len(order)-i)
		if err == nil {
			reachable.answered(addr)
			return c, addr, nil
		}
		errs = append(errs, err)
		if errors.Is(ctx.Err(), context.Canceled) {
			break // nobody waits, which is not the server's doing
		}
		reachable.failed(addr)
	}
	return nil, "", fmt.Errorf("connecting to ClickHouse at %s: %w", strings.Join(order, ", "), errors.Join(errs...))
}

// DialAddr connects to one address, the first of so many that are still to be tried:
// of the time that is left the others get their share.
func DialAddr(ctx context.Context, cfg config.ClickHouse, addr string, toTry int) (*Client, error) {
	within := cfg.DialTimeout
	if deadline, ok := ctx.Deadline(); ok && toTry > 1 {
		within = min(within, time.Until(deadline)/time.Duration(toTry))
	}
	password, err := credential.Secret("clickhouse.password", cfg.Password, cfg.PasswordFile)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	c, err := ch.Dial(ctx, ch.Options{
		Address: addr, Database: cfg.Database, User: cfg.User, Password: password,
		ClientName: clientName, Compression: ch.CompressionLZ4,
		ReadTimeout: ch.NoTimeout, DialTimeout: within, HandshakeTimeout: within,
		Dialer: dialer{cfg, within},
	})
	if err != nil {
		return nil, notAdmitted(cfg, err)
	}
	return &Client{Client: c}, nil
}

// dialer encrypts connections where the settings say so.
type dialer struct {
	cfg    config.ClickHouse
	within time.Duration
}

// DialContext implements ch.Dialer.
func (d dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return credential.Dial(ctx, tlsKey, d.cfg.TLS, d.within, network, addr)
}

// notAdmitted makes a Rejection of an error by which a server and the settings say that they
// do not fit, and returns any other error as it is.
func notAdmitted(cfg config.ClickHouse, err error) error {
	if e, ok := ch.AsException(err); ok && e.Code == authenticationFailed {
		return credential.Reject("clickhouse.password", errors.New("AUTHENTICATION_FAILED"),
			fmt.Sprintf("the server does not let user %q in with it", cfg.User))
	}
	return err
}

// DialDefault connects to the database that is always there.
func DialDefault(ctx context.Context, cfg config.ClickHouse) (*Client, error) {
	return Dial(ctx, WithoutDatabase(cfg))
}

// WithoutDatabase returns cfg with the database that is always there.
func WithoutDatabase(cfg config.ClickHouse) config.ClickHouse {
	cfg.Database = ch.DefaultDatabase
	return cfg
}

// ErrHangs means that a server neither goes on with a statement nor lets anybody in: a
// process that is stopped and a host that is cut off keep their connections, and say
// nothing.
var ErrHangs = errors.New("the server does not respond")
