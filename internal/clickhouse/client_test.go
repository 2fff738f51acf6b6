package clickhouse

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"

	"github.com/millrace/millrace/internal/config"
)

// deaf passes connections on to a server, and no more of what clients send once asked to:
// the server then sends nothing either, as one that hangs. It tells of what it swallowed.
func deaf(t *testing.T, cfg config.ClickHouse) (through config.ClickHouse, now *atomic.Bool, swallowed chan struct{}) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	to := cfg.Addr[0]
	now, swallowed = new(atomic.Bool), make(chan struct{}, 1)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				client.Close()
				continue
			}
			all.Go(func() { _, _ = io.Copy(client, server); client.Close() })
			all.Go(func() {
				defer server.Close()
				for buf := make([]byte, 1<<16); ; {
					n, err := client.Read(buf)
					if err != nil {
						return
					}
					if now.Load() {
						select {
						case swallowed <- struct{}{}:
						default:
						}
						continue
					}
					if _, err := server.Write(buf[:n]); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	cfg.Addr = []string{l.Addr().String()}
	return cfg, now, swallowed
}

// A daemon that is told to stop ends, also when that comes just before a statement is
// sent: then no packet comes that would wake who waits for one.
func TestAStatementThatIsCalledOffEndsWhateverTheServerDoes(t *testing.T) {
	t.Parallel()
	cfg, silent, swallowed := deaf(t, migrated(t))
	c, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Do(t.Context(), ch.Query{Body: "SYSTEM FLUSH LOGS"}); err != nil {
		t.Fatal(err)
	}
	silent.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Do(ctx, ch.Query{Body: "SYSTEM FLUSH LOGS"}) }()
	<-swallowed
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
}
