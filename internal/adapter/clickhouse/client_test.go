package clickhouse

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/testkit"
)

// A daemon that is told to stop ends, also while it waits for a packet that never comes:
// of a server that hangs, or that was sent nothing because the stop came just before.
func TestWhatIsCalledOffEndsWhateverTheServerDoes(t *testing.T) {
	t.Parallel()
	server := clickhousetest.Database(t)
	for name, of := range map[string]struct {
		sent string // of it, which the server does not get
		ask  func(context.Context, *Client) error
	}{
		"statement": {
			"FLUSH LOGS", func(ctx context.Context, c *Client) error { return c.Do(ctx, ch.Query{Body: "SYSTEM FLUSH LOGS"}) },
		},
		"ping": {
			string([]byte{byte(proto.ClientCodePing)}), func(ctx context.Context, c *Client) error { return c.Ping(ctx) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, r := clickhousetest.Rejected(t, server, of.sent)
			c, err := Dial(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := of.ask(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			r.RespondWith(clickhousetest.Silence)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- of.ask(ctx, c) }()
			testkit.Eventually(t, time.Minute, func() error {
				if r.Met() == 0 {
					return errors.New("nothing was sent")
				}
				return nil
			})
			cancel()
			select {
			case err := <-ended:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("it ended with %v", err)
				}
			case <-time.After(time.Minute):
				t.Fatal("it has not ended after a minute")
			}
			if !c.IsClosed() {
				t.Error("the connection is open, though what would come on it is unknown")
			}
		})
	}
}
