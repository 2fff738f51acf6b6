//go:build (linux || darwin) && !nolibrary

package chserver_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/embedded/chserver"
	"github.com/millrace/millrace/internal/testkit"
)

// many is how many clients come of the kinds that a working day brings. Without a shelter
// the first few end a server; the quiet tier goes on for longer.
var many = func() int {
	if testkit.Strict() {
		return 200
	}
	return 60
}()

// A reset, a broken Hello and a rejection each ended the library's whole process.
func TestNoClientEndsTheServer(t *testing.T) {
	t.Parallel()
	for name, shelter := range map[string]func(chserver.Config) chserver.Config{
		"as it is started":     func(cfg chserver.Config) chserver.Config { return cfg },
		"where no terminal is": chserver.WithoutTerminal,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := start(t, shelter(config(dir)))
			fill(t, s.Addr())
			first, began, up := pid(t, dir), time.Now(), number(t, s.Addr(), "SELECT toUInt64(uptime()) AS n")
			for _, b := range bad { // what is asked below has to find all of them done
				addr := s.Addr()
				if b.web {
					addr = s.HTTPAddr()
				}
				for n := range b.times {
					conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
					if err != nil {
						t.Fatalf("%s, %d: %v", b.name, n, err)
					}
					_ = conn.(*net.TCPConn).SetReadBuffer(64 << 10) // so that most of a response is still to be written
					b.do(t, conn, n)
					if n%4 != 0 {
						_ = conn.(*net.TCPConn).SetLinger(0) // Close resets
					}
					conn.Close()
				}
			}
			for range many / 10 {
				checkRejections(t, s.Addr())
			}
			if got := count(t, s.Addr()); got != 3 {
				t.Errorf("the table has %d rows, want 3", got)
			}
			if last := pid(t, dir); last != first {
				t.Errorf("process %d became %d", first, last)
			}
			passed := uint64(time.Since(began).Seconds()) // both are cut to whole seconds
			if last := number(t, s.Addr(), "SELECT toUInt64(uptime()) AS n"); last < up+passed-min(passed, 1) {
				t.Errorf("it has been up for %d s, and %d s later for %d s", up, passed, last)
			}
			s.Close() // a server that is dying takes seconds to; its log knows at once
			if err := s.Died(); err != nil {
				t.Error(err)
			}
		})
	}
}

// much is 24 MB, more than the sockets on its way hold; endless never ends by itself,
// and is slow.
const (
	much    = "SELECT number AS n FROM numbers(3000000)"
	endless = "SELECT number + sleepEachRow(0.001) AS n FROM system.numbers SETTINGS max_block_size = 10, " +
		"function_sleep_max_microseconds_per_block = 0"
)

// bad are clients that end as they should not, each on a new connection, which is
// closed or reset after do.
var bad = []struct {
	name  string
	web   bool
	times int
	do    func(t *testing.T, conn net.Conn, n int)
}{
	{"gone between two queries", false, many, func(t *testing.T, conn net.Conn, n int) {
		t.Helper()
		client := greet(t, conn)
		if n%2 == 0 {
			return
		}
		if err := client.Do(t.Context(), ch.Query{Body: "SELECT 1", Result: new(proto.Results).Auto()}); err != nil {
			t.Error(err)
		}
	}},
	{"gone while it reads", false, many, func(t *testing.T, conn net.Conn, n int) {
		t.Helper()
		came, _ := ask(t, t.Context(), greet(t, conn), ch.Query{Body: much}, n)
		<-came
	}},
	{"cancelled", false, many / 4, func(t *testing.T, conn net.Conn, n int) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		came, ended := ask(t, ctx, greet(t, conn), ch.Query{Body: much}, n)
		<-came
		cancel() // the client sends a Cancel and closes
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}},
	{"whose query is killed", false, many / 10, func(t *testing.T, conn net.Conn, n int) {
		t.Helper()
		id := fmt.Sprint("native-", n)
		came, ended := ask(t, t.Context(), greet(t, conn), ch.Query{Body: endless, QueryID: id}, n)
		<-came
		killQuery(t, conn.RemoteAddr().String(), id)
		if err := <-ended; !ch.IsErr(err, proto.ErrQueryWasCancelled) {
			t.Errorf("the client of a query that is killed is told %v", err)
		}
	}},
	{"gone within its first packet", false, many / 10, write("\x00\x05a")},
	{"with another protocol", false, many / 10, write("GET / HTTP/1.1\r\n\r\n")},
	{"with a name that has no end", false, many / 10, write("\x00\xff\xff\xff\xff\xff\xff\xff\x7f")},
	{"gone within an HTTP request", true, many / 10, write("GET / HTTP/1.1\r\nHost")},
	{"gone while it reads over HTTP", true, many / 4, func(t *testing.T, conn net.Conn, n int) {
		t.Helper()
		write("GET /?query=SELECT+number+FROM+numbers(3000000) HTTP/1.1\r\nHost: x\r\n\r\n")(t, conn, n)
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
	}},
}

func write(text string) func(*testing.T, net.Conn, int) {
	return func(t *testing.T, conn net.Conn, _ int) {
		t.Helper()
		if _, err := conn.Write([]byte(text)); err != nil {
			t.Error(err)
		}
	}
}

// killQuery ends a query, on another connection, and returns when it has ended.
func killQuery(t *testing.T, addr, id string) {
	t.Helper()
	var status proto.ColStr
	do(t, addr, ch.Query{
		Body: "KILL QUERY WHERE query_id = '" + id + "' SYNC",
		Result: proto.Results{
			{Name: "kill_status", Data: &status},
			{Name: "query_id", Data: new(proto.ColStr)},
			{Name: "user", Data: new(proto.ColStr)},
			{Name: "query", Data: new(proto.ColStr)},
		},
		OnResult: func(_ context.Context, b proto.Block) error {
			if b.Rows > 0 && status.Row(0) != "finished" {
				t.Errorf("killing query %s is %s", id, status.Row(0))
			}
			return nil
		},
	})
}

// ask reads what is asked for. came is closed within the response, after more of it for some n, and
// ended has the error.
func ask(
	t *testing.T, ctx context.Context, client *ch.Client, q ch.Query, n int, //nolint:revive // as the others
) (came chan struct{}, ended chan error) {
	t.Helper()
	came, ended = make(chan struct{}), make(chan error, 1)
	go func() {
		var col proto.ColUInt64
		blocks := 0
		q.Result = proto.Results{{Name: "n", Data: &col}}
		q.OnResult = func(context.Context, proto.Block) error {
			if blocks++; blocks == 1+n%4 {
				close(came)
			}
			return nil
		}
		err := client.Do(ctx, q)
		if blocks < 1+n%4 {
			t.Error(err)
			close(came)
		}
		ended <- err
	}()
	return came, ended
}

// checkRejections expects a client to be told of them as the server program would.
func checkRejections(t *testing.T, addr string) {
	t.Helper()
	for _, tt := range []struct {
		opt   ch.Options
		codes []proto.Error // over HTTP, which the relay asks, the password's is another
		want  string
	}{
		{
			ch.Options{Database: "nowhere"},
			[]proto.Error{proto.ErrUnknownDatabase},
			"DB::Exception: Database nowhere does not exist",
		},
		{
			ch.Options{User: "nobody"},
			[]proto.Error{proto.ErrAuthenticationFailed},
			"DB::Exception: nobody: Authentication failed: password is incorrect, or there is no user with such name",
		},
		{
			ch.Options{Password: "wrong"},
			[]proto.Error{proto.ErrAuthenticationFailed, proto.ErrRequiredPassword},
			"DB::Exception: default: Authentication failed",
		},
	} {
		tt.opt.Address = addr
		_, err := ch.Dial(t.Context(), tt.opt)
		if ex, ok := ch.AsException(err); !ok || !ex.IsCode(tt.codes...) || !strings.HasPrefix(ex.Message, tt.want) ||
			strings.Contains(ex.Message, "(version") {
			t.Errorf("user %q, password %q, database %q: %v, want %v with %q",
				tt.opt.User, tt.opt.Password, tt.opt.Database, err, tt.codes, tt.want)
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
