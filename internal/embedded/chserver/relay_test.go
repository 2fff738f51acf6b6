//go:build (linux || darwin) && !nolibrary

package chserver_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
)

// A reset, a broken Hello and a refusal each ended the library's whole process.
func TestNoClientEndsTheServer(t *testing.T) { //nolint:tparallel // see below
	t.Parallel()
	dir := t.TempDir()
	s := start(t, config(dir))
	fill(t, s.Addr())
	connect := func(t *testing.T, addr string) *net.TCPConn {
		t.Helper()
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		return conn.(*net.TCPConn)
	}
	for _, tt := range []struct { //nolint:paralleltest // what is asked after them has to find all of it done
		name, addr string
		do         func(*testing.T, *net.TCPConn, int)
	}{
		{"between two queries", s.Addr(), func(t *testing.T, conn *net.TCPConn, _ int) {
			t.Helper()
			greet(t, conn)
		}},
		{"within a query", s.Addr(), func(t *testing.T, conn *net.TCPConn, n int) {
			t.Helper()
			client := greet(t, conn)
			came, ended := make(chan struct{}), make(chan error, 1)
			go func() {
				var col proto.ColUInt64
				blocks := 0
				ended <- client.Do(t.Context(), ch.Query{
					Body: "SELECT number AS n FROM numbers(10000000)", Result: proto.Results{{Name: "n", Data: &col}},
					OnResult: func(context.Context, proto.Block) error {
						if blocks++; blocks == 1+n%4 {
							close(came)
						}
						return nil
					},
				})
			}()
			select {
			case <-came:
			case err := <-ended:
				t.Error(err)
			}
		}},
		{"within its first packet", s.Addr(), func(_ *testing.T, conn *net.TCPConn, _ int) { _, _ = conn.Write([]byte{0, 5, 'a'}) }},
		{"with another protocol", s.Addr(), func(_ *testing.T, conn *net.TCPConn, _ int) { _, _ = conn.Write([]byte("GET / HTTP/1.1\r\n\r\n")) }},
		{"with a name that has no end", s.Addr(), func(_ *testing.T, conn *net.TCPConn, _ int) {
			_, _ = conn.Write([]byte{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
		}},
		{"within an HTTP request", s.HTTPAddr(), func(_ *testing.T, conn *net.TCPConn, _ int) { _, _ = conn.Write([]byte("GET / HTTP/1.1\r\nHost")) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for n := range 20 {
				conn := connect(t, tt.addr)
				tt.do(t, conn, n)
				if n%2 == 0 {
					_ = conn.SetLinger(0) // Close resets
				}
				conn.Close()
			}
		})
	}
	refusals(t, s.Addr())
	if got := count(t, s.Addr()); got != 3 {
		t.Errorf("the table has %d rows, want 3", got)
	}
	s.Close() // a server that is dying takes seconds to; its log knows at once
	log, err := os.ReadFile(filepath.Join(dir, "clickhouse.err.log"))
	if err != nil {
		t.Fatal(err)
	}
	if _, fatal, found := strings.Cut(string(log), "<Fatal>"); found {
		t.Errorf("the server died: %.500s", fatal)
	}
}

// refusals are told to a client as the server program would.
func refusals(t *testing.T, addr string) {
	t.Helper()
	for _, tt := range []struct {
		opt  ch.Options
		code proto.Error
		want string
	}{
		{ch.Options{Database: "nowhere"}, proto.ErrUnknownDatabase, "DB::Exception: Database nowhere does not exist"},
		{ch.Options{User: "nobody"}, proto.ErrAuthenticationFailed, "DB::Exception: nobody: Authentication failed: password is incorrect, or there is no user with such name"},
		{ch.Options{Password: "wrong"}, proto.ErrRequiredPassword, "DB::Exception: default: Authentication failed"},
	} {
		tt.opt.Address = addr
		_, err := ch.Dial(t.Context(), tt.opt)
		if ex, ok := ch.AsException(err); !ok || ex.Code != tt.code || !strings.HasPrefix(ex.Message, tt.want) || strings.Contains(ex.Message, "(version") {
			t.Errorf("user %q, password %q, database %q: %v, want %v with %q", tt.opt.User, tt.opt.Password, tt.opt.Database, err, tt.code, tt.want)
		}
	}
}

// greet speaks the native protocol's first two packets on conn.
func greet(t *testing.T, conn net.Conn) *ch.Client {
	t.Helper()
	client, err := ch.Connect(t.Context(), conn, ch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}
