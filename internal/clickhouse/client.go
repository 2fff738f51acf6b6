package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/ClickHouse/ch-go"

	"github.com/millrace/millrace/internal/config"
)

const clientName = "millrace"

// Options returns how to connect to the servers of cfg: native protocol, LZ4,
// the database selected. A connection attempt tries every address once, starting
// at a different one each time. A read waits as long as its context allows: an
// insert may be silent for longer than any fixed packet timeout.
func Options(cfg config.ClickHouse) ch.Options {
	o := ch.Options{
		Database:         cfg.Database,
		User:             cfg.User,
		Password:         cfg.Password.Reveal(),
		ClientName:       clientName,
		Compression:      ch.CompressionLZ4,
		ReadTimeout:      ch.NoTimeout,
		DialTimeout:      cfg.DialTimeout,
		HandshakeTimeout: cfg.DialTimeout,
		Dialer:           &dialer{addrs: cfg.Addr, net: net.Dialer{Timeout: cfg.DialTimeout}},
	}
	if len(cfg.Addr) > 0 {
		o.Address = cfg.Addr[0]
	}
	return o
}

// Ping reports whether a server of cfg accepts connections for the database.
func Ping(ctx context.Context, cfg config.ClickHouse) error {
	c, err := dial(ctx, Options(cfg))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Ping(ctx); err != nil {
		return fmt.Errorf("pinging ClickHouse: %w", err)
	}
	return nil
}

func dial(ctx context.Context, o ch.Options) (*ch.Client, error) {
	c, err := ch.Dial(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("connecting to ClickHouse at %s: %w", o.Address, err)
	}
	return c, nil
}

var errNoAddress = errors.New("no address is set (clickhouse.addr)")

// dialer connects to the first of several addresses that answers.
type dialer struct {
	addrs []string
	net   net.Dialer
	turn  atomic.Uint32
}

// DialContext ignores the address it is given: the servers are alike.
func (d *dialer) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	if len(d.addrs) == 0 {
		return nil, errNoAddress
	}
	start := int(d.turn.Add(1) - 1)
	var errs []error
	for i := range d.addrs {
		conn, err := d.net.DialContext(ctx, network, d.addrs[(start+i)%len(d.addrs)])
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}
