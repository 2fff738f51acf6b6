package chserver

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/ClickHouse/ch-go"
)

const (
	pingEvery   = 25 * time.Millisecond
	pingTimeout = 2 * time.Second
)

// ping asks the server for a response on both addresses.
func ping(ctx context.Context, addr, http string) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	client, err := ch.Dial(ctx, ch.Options{Address: addr, DialTimeout: pingTimeout, ClientName: "millrace"})
	if err != nil {
		return fmt.Errorf("connecting to ClickHouse: %w", err)
	}
	defer client.Close()
	if err := client.Ping(ctx); err != nil {
		return fmt.Errorf("pinging ClickHouse: %w", err)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", http)
	if err != nil {
		return fmt.Errorf("connecting to ClickHouse over HTTP: %w", err)
	}
	return conn.Close()
}
