package queryapi

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/testkit"
)

func TestTheHostHasTheConnectionsThatItsSettingsSay(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	app, err := New(Config{Conns: httpkit.Conns{Max: 1}, MaxInFlight: 1},
		Deps{Log: log, Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	addr := testkit.FreeAddr(t)
	component := httpkit.ListenComponent("query", addr, "query.listen", app, log)
	if err := component.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- component.Run(ctx) }()
	first, second := health(t, addr), health(t, addr) // the first one is open still
	if first != http.StatusOK || second != http.StatusServiceUnavailable {
		t.Errorf("of two connections, where one may be open: %d and %d", first, second)
	}
	stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// health asks on a connection of its own, which it leaves open, and returns the status.
func health(t *testing.T, addr string) int {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
