package httpkit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/testkit"
)

// dial connects from an address of the loopback.
func dial(t *testing.T, addr, from string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// ask sends a request for /health on a connection that may be kept.
func ask(t *testing.T, conn net.Conn) response {
	t.Helper()
	if _, err := io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return hear(t, conn)
}

func hear(t *testing.T, conn net.Conn) response {
	t.Helper()
	got, err := answered(conn)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// answered is hear for a connection that may be cut off.
func answered(conn net.Conn) (response, error) {
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return response{}, err
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return response{}, err
	}
	return response{resp.StatusCode, resp.Header, string(body), resp.Close}, nil
}

// drip sends a text byte by byte, until the other side is tired of it.
func drip(conn net.Conn, text string, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := range text {
		if _, err := conn.Write([]byte{text[i]}); err != nil {
			return
		}
		<-tick.C
	}
}

func turnedAway(app *fiber.App, why rejection) float64 {
	return testutil.ToFloat64(kitOf(app).metrics.rejected[why])
}

func TestARequestThatArrivesTooSlowlyIs408(t *testing.T) {
	t.Parallel()
	const soon = 300 * time.Millisecond
	for _, tc := range []struct {
		name  string
		first string    // sent at once
		drips string    // sent byte by byte
		why   rejection // of what is timed: the other has time
	}{
		{"header", "", "GET /health HTTP/1.1\r\nX-Long: " + strings.Repeat("a", 5000), slowHeader},
		{"header after its first line", "GET /health HTTP/1.1\r\n", "X-Long: " + strings.Repeat("a", 5000), slowHeader},
		{
			"beginning of a body", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n",
			strings.Repeat("a", 5000), slowHeader,
		},
		{
			"rest of a body", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 90000\r\n\r\n" + strings.Repeat("a", 20000),
			strings.Repeat("a", 70000), slowBody,
		},
		{
			"chunks", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
			strings.Repeat("1\r\na\r\n", 900), slowBody,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			conns := Conns{Header: soon, Body: time.Minute}
			if tc.why == slowBody {
				conns = Conns{Header: time.Minute, Body: soon}
			}
			app := newApp(t, Config{Conns: conns})
			conn := dial(t, serve(t, app), "127.0.0.1")
			began := time.Now()
			if _, err := io.WriteString(conn, tc.first); err != nil {
				t.Fatal(err)
			}
			go drip(conn, tc.drips, 20*time.Millisecond)
			got := hear(t, conn)
			if got.status != 408 && got.status != 503 || !got.closes || !strings.Contains(got.body, `"retryable":true`) {
				t.Errorf("answer %+v, want 408 or 503 that closes", got)
			}
			if took := time.Since(began); took < soon || took > testkit.Promised(soon+5*time.Second) {
				t.Errorf("answered after %s, want after %s", took, soon)
			}
			if n := turnedAway(app, tc.why); n != 1 {
				t.Errorf("%v counted as %s", n, tc.why)
			}
		})
	}
}

// However much came at first, a body may not stay away for long.
func TestASilenceWithinABodyEndsIt(t *testing.T) {
	t.Parallel()
	const soon = 300 * time.Millisecond
	app := newApp(t, Config{Conns: Conns{Header: time.Minute, Body: soon, BodyRate: 1}})
	conn := dial(t, serve(t, app), "127.0.0.1")
	began := time.Now()
	if _, err := io.WriteString(conn,
		"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 90000\r\n\r\n"+strings.Repeat("a", 80_000)); err != nil {
		t.Fatal(err)
	}
	if got := hear(t, conn); got.status != 503 || !got.closes {
		t.Errorf("answer %+v, want 503 that closes", got)
	}
	if took := time.Since(began); took > testkit.Promised(soon+5*time.Second) {
		t.Errorf("answered after %s, want after %s", took, soon)
	}
}

func TestAConnectionCountsUntilItsClientHasLeft(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{Conns: Conns{MaxPerAddr: 1}})
	kitOf(app).linger = time.Minute
	addr := serve(t, app)
	conn := dial(t, addr, "127.0.0.1")
	if _, err := io.WriteString(conn,
		"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	// to the end of what the host says
	if all, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(all), "HTTP/1.1 400 ") {
		t.Fatalf("answer %q, %v", all, err)
	}
	if got := ask(t, dial(t, addr, "127.0.0.1")); got.status != 503 {
		t.Errorf("beside a connection that is still there: %d", got.status)
	}
	conn.Close()
	testkit.Eventually(t, time.Minute, func() error {
		if n := kitOf(app).connections.Load(); n != 0 {
			return fmt.Errorf("%d connections are counted after the client has left", n)
		}
		return nil
	})
	if got := ask(t, dial(t, addr, "127.0.0.1")); got.status != 200 {
		t.Errorf("after the client has left: %d", got.status)
	}
}

func TestAFewAddressesDoNotTakeEveryConnection(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{Conns: Conns{Max: 6, MaxPerAddr: 4}})
	kitOf(app).roomPause = 0
	leave := make(chan struct{})
	Handle(app, "GET", "/slow", func(c *fiber.Ctx) error {
		return SendStream(c, &Stream{ContentType: "text/plain", Write: func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, strings.Repeat("a", 1<<20))
			<-leave
			return err
		}})
	})
	addr := serve(t, app)
	accepted := func(n int64) {
		t.Helper()
		testkit.Eventually(t, time.Minute, func() error {
			if got := kitOf(app).connections.Load(); got != n {
				return fmt.Errorf("%d connections are open, want %d", got, n)
			}
			return nil
		})
	}
	// One address has four: one is being answered, one has sent half a header, two have
	// had a response and wait.
	busy := dial(t, addr, "127.0.0.2")
	if _, err := io.WriteString(busy, "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(busy)
	resp, err := http.ReadResponse(reader, nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	defer resp.Body.Close()
	half := dial(t, addr, "127.0.0.2")
	if _, err := io.WriteString(half, "GET"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		ask(t, dial(t, addr, "127.0.0.2"))
	}
	accepted(4)
	other := dial(t, addr, "127.0.0.3")
	accepted(5)
	dial(t, addr, "127.0.0.3")
	accepted(6)
	// A third address has room made for it, until there is nobody with more than it has.
	for i := range 2 {
		if got := ask(t, dial(t, addr, "127.0.0.4")); got.status != 200 {
			t.Errorf("connection %d of another address: %d", i+1, got.status)
		}
	}
	if got := ask(t, dial(t, addr, "127.0.0.4")); got.status != 503 {
		t.Errorf("a third one, where all have two: %d", got.status)
	}
	if n := turnedAway(app, madeRoom); n != 2 {
		t.Errorf("room was made %v times", n)
	}
	if got := ask(t, other); got.status != 200 {
		t.Errorf("who has fewer lost a connection: %d", got.status)
	}
	close(leave)
	if body, err := io.ReadAll(resp.Body); err != nil || len(body) != 1<<20 {
		t.Errorf("an answer was cut off after %d bytes: %v", len(body), err)
	}
}

// A machine that stands still for longer than what is allowed breaks the rate itself,
// so what is allowed grows until it does not.
func TestABodyThatKeepsItsRateMayTakeLong(t *testing.T) {
	t.Parallel()
	for soon := 200 * time.Millisecond; ; soon *= 4 {
		err := keepRate(t, soon)
		if err == nil {
			return
		}
		if soon > 10*time.Second {
			t.Fatal(err)
		}
		t.Logf("within %s: %v", soon, err)
	}
}

// keepRate sends a body for longer than twice what a header and the beginning of a body
// may take, four times as fast as it must be.
func keepRate(t *testing.T, soon time.Duration) error {
	t.Helper()
	const parts, part = 20, 10_000
	tick := time.NewTicker(soon / 8)
	defer tick.Stop()
	rate := int(part * 8 * time.Second / soon / 4)
	conn := dial(t, serve(t, newApp(t, Config{Conns: Conns{Header: soon, Body: soon, BodyRate: rate}})), "127.0.0.1")
	if _, err := fmt.Fprintf(conn, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n",
		parts*part); err != nil {
		return err
	}
	began := time.Now()
	for range parts {
		if _, err := io.WriteString(conn, strings.Repeat("a", part)); err != nil {
			return err
		}
		<-tick.C
	}
	got, err := answered(conn)
	if took := time.Since(began); err != nil || got.status != 200 || len(got.body) != parts*part || took < 2*soon {
		return fmt.Errorf("answer %d with %d bytes after %s, %w", got.status, len(got.body), took, err)
	}
	if _, err := io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return err
	}
	if got, err := answered(conn); err != nil || got.status != 200 {
		return fmt.Errorf("the next request on the connection: %d, %w", got.status, err)
	}
	return nil
}

// The deadline is for what is done with a request, not for how it arrives: a body that
// took longer than that would otherwise be read, and then rejected whatever it is.
func TestTheDeadlineBeginsOnceTheBodyIsThere(t *testing.T) {
	t.Parallel()
	const deadline, part = 100 * time.Millisecond, 20_000
	app := newApp(t, Config{Deadline: deadline})
	ends := make(chan [2]time.Time, 1) // the deadline, and when the body was there at the latest
	Handle(app, "POST", "/slow", func(c *fiber.Ctx) error {
		if _, err := Body(c); err != nil {
			return err
		}
		now := time.Now()
		end, _ := c.UserContext().Deadline()
		ends <- [2]time.Time{end, now}
		return nil
	})
	conn := dial(t, serve(t, app), "127.0.0.1")
	if _, err := fmt.Fprintf(conn, "POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s",
		2*part, strings.Repeat("a", part)); err != nil {
		t.Fatal(err)
	}
	<-time.After(2 * deadline) // nothing can be seen of a request that waits
	sent := time.Now()
	if _, err := io.WriteString(conn, strings.Repeat("a", part)); err != nil {
		t.Fatal(err)
	}
	if got := hear(t, conn); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := <-ends; got[0].Before(sent.Add(deadline)) || got[0].After(got[1].Add(deadline)) {
		t.Errorf("the deadline is %s after the last of the body was sent, and %s after it was there, want %s",
			got[0].Sub(sent), got[0].Sub(got[1]), deadline)
	}
}

func TestAConnectionThatAsksNothingIsClosed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"new", "used"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A machine that stands still for longer than a connection may be idle asks on
			// one that is closed already, so what is allowed grows until it does not.
			for soon := time.Second; ; soon *= 4 {
				err := keepIdle(t, soon, name == "used")
				if err == nil {
					return
				}
				if soon > 10*time.Second {
					t.Fatal(err)
				}
				t.Logf("within %s: %v", soon, err)
			}
		})
	}
}

// keepIdle leaves a connection idle, after a request or before one, until it is closed.
func keepIdle(t *testing.T, soon time.Duration, used bool) error {
	t.Helper()
	// However short a body has to arrive in.
	addr := serve(t, newApp(t, Config{Conns: Conns{Idle: soon, Arrival: soon / 8}}))
	began := time.Now() // before the server begins to count
	conn := dial(t, addr, "127.0.0.1")
	if used {
		began = time.Now()
		if _, err := io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			return err
		}
		if got, err := answered(conn); err != nil || got.status != 200 {
			return fmt.Errorf("answer %d, %w", got.status, err)
		}
	}
	rest, err := io.ReadAll(conn)
	if took := time.Since(began); err != nil || took < soon/2 || len(rest) > 0 && used {
		return fmt.Errorf("closed after %s with %q, %w", took, rest, err)
	}
	return nil
}

// A load balancer may keep connections for half an hour, and no body may take that long.
func TestABodyHasToArriveInTimeHoweverLongAConnectionMayBeIdle(t *testing.T) {
	t.Parallel()
	const soon = 300 * time.Millisecond
	app := newApp(t, Config{Conns: Conns{Idle: time.Hour, Arrival: soon, Body: time.Minute, BodyRate: 1}})
	conn := dial(t, serve(t, app), "127.0.0.1")
	began := time.Now()
	if _, err := io.WriteString(conn,
		"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 90000\r\n\r\n"+strings.Repeat("a", 20_000)); err != nil {
		t.Fatal(err)
	}
	go drip(conn, strings.Repeat("a", 70_000), 20*time.Millisecond)
	if got := hear(t, conn); got.status != 503 || !got.closes {
		t.Errorf("answer %+v, want 503 that closes", got)
	}
	if took := time.Since(began); took < soon || took > testkit.Promised(soon+5*time.Second) {
		t.Errorf("answered after %s, want after %s", took, soon)
	}
	if n := turnedAway(app, slowBody); n != 1 {
		t.Errorf("%v counted as slow bodies", n)
	}
}

// Deadlines that strike a part earlier spare most of their setting; a part of half an hour would
// be longer than a response may take.
func TestDeadlinesStrikeASecondEarlyAtMost(t *testing.T) {
	t.Parallel()
	for _, idle := range []time.Duration{time.Second, 0, 24 * time.Hour} {
		conns := Conns{Idle: idle}.orDefaults()
		c := guardedConn{limits: &conns}
		if step := c.step(); step > 75*time.Second/64 || step != min(conns.Idle, conns.Arrival)/64 {
			t.Errorf("with connections idle for %s, deadlines strike up to %s early", conns.Idle, step)
		}
	}
}

func TestAClientThatReadsNothingIsCutOff(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{Conns: Conns{Write: 300 * time.Millisecond}})
	conn := dial(t, serve(t, app), "127.0.0.1")
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	many := bytes.Repeat([]byte("GET /health HTTP/1.1\r\nHost: x\r\n\r\n"), 1000)
	for sent := 0; ; sent += len(many) { // ends with the connection
		if _, err := conn.Write(many); err != nil {
			if errors.Is(err, syscall.ETIMEDOUT) || sent > 1<<30 {
				t.Errorf("after %d bytes: %v", sent, err)
			}
			break
		}
	}
	testkit.Eventually(t, time.Minute, func() error {
		if n := kitOf(app).connections.Load(); n != 0 {
			return fmt.Errorf("%d connections are open", n)
		}
		return nil
	})
}

func TestConnectionsAreBoundedAndOneMoreIsToldSo(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		conns Conns
		why   rejection
		other int // status that another address gets
	}{
		{"all", Conns{Max: 3}, tooMany, 503},
		{"of one address", Conns{MaxPerAddr: 3}, tooManyFrom, 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			app := newApp(t, Config{Conns: tc.conns})
			addr := serve(t, app)
			var open []net.Conn
			for range 3 {
				conn := dial(t, addr, "127.0.0.1")
				if got := ask(t, conn); got.status != 200 {
					t.Fatalf("a connection within the bound: %d", got.status)
				}
				open = append(open, conn)
			}
			got := ask(t, dial(t, addr, "127.0.0.1"))
			after, err := strconv.Atoi(got.header.Get("Retry-After"))
			if got.status != 503 || !got.closes || err != nil || after < 2 || after > 10 ||
				len(got.header.Get("X-Request-Id")) != uuidLen ||
				!strings.Contains(got.body, `"code":"SERVICE_UNAVAILABLE","retryable":true`) {
				t.Errorf("one more: %+v", got)
			}
			if n := turnedAway(app, tc.why); n != 1 {
				t.Errorf("%v were counted as %s", n, tc.why)
			}
			if got := ask(t, dial(t, addr, "127.0.0.2")); got.status != tc.other {
				t.Errorf("another address: %d, want %d", got.status, tc.other)
			}
			open[0].Close()
			testkit.Eventually(t, time.Minute, func() error {
				if got := ask(t, dial(t, addr, "127.0.0.1")); got.status != 200 {
					return fmt.Errorf("after one was closed: %d", got.status)
				}
				return nil
			})
		})
	}
}

func TestATrustedProxysConnectionsAreNotCountedAsOneAddress(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{
		Conns: Conns{MaxPerAddr: 1}, Proxies: Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}},
	})
	addr := serve(t, app)
	for range 3 {
		if got := ask(t, dial(t, addr, "127.0.0.1")); got.status != 200 {
			t.Errorf("answer %d", got.status)
		}
	}
}

func TestManyThatAreTurnedAwayCostNoMoreThanTheirClosing(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{Conns: Conns{Max: 1}})
	addr := serve(t, app)
	first := dial(t, addr, "127.0.0.1")
	ask(t, first)
	for range 4 * turnsAtOnce { // which stay open, and of which nothing is heard
		dial(t, addr, "127.0.0.1")
	}
	if got := ask(t, first); got.status != 200 {
		t.Errorf("the one that was there: %d", got.status)
	}
	testkit.Eventually(t, time.Minute, func() error {
		if n := turnedAway(app, tooMany); n < 4*turnsAtOnce {
			return fmt.Errorf("%v were turned away", n)
		}
		return nil
	})
}

// scarce is a listener to which the system gives no file now and then.
type scarce struct {
	net.Listener
	errs []error
}

func (s *scarce) Accept() (net.Conn, error) {
	if len(s.errs) > 0 {
		err := s.errs[0]
		s.errs = s.errs[1:]
		return nil, &net.OpError{Op: "accept", Err: err}
	}
	return s.Listener.Accept()
}

func TestAcceptingGoesOnOnceThereAreFilesAgain(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ln := newListener(&scarce{l, []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.EMFILE}},
		kitOf(newApp(t, Config{})))
	dial(t, l.Addr().String(), "127.0.0.1")
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	ln = newListener(&scarce{l, []error{syscall.EINVAL}}, kitOf(newApp(t, Config{})))
	if _, err := ln.Accept(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a listener that is broken: %v", err)
	}
}

// from is a connection of an address.
type from struct {
	net.Conn
	addr string
}

func (f from) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(f.addr)) }

func TestA64OfIPv6IsOneAddress(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"192.0.2.7:1":                  "192.0.2.7",
		"[::ffff:192.0.2.7]:1":         "192.0.2.7",
		"[2001:db8:1:2:3:4:5:6]:1":     "2001:db8:1:2::",
		"[2001:db8:1:2:ffff:4:5:6]:99": "2001:db8:1:2::",
		"[2001:db8:1:3::1]:1":          "2001:db8:1:3::",
		"[fe80::1%eth0]:1":             "fe80::",
	} {
		if got := siteOf(from{addr: addr}); got.String() != want {
			t.Errorf("%s counts as %s, want %s", addr, got, want)
		}
	}
}

// Where all connections are those of bodies that never end, another address has room made
// for it, and those with no more than it has stay.
func TestAddressesThatNeverEndTheirRequestsDoNotTakeEveryConnection(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{Conns: Conns{Max: 5, MaxPerAddr: 3}})
	kitOf(app).roomPause = 0
	begun := make(chan struct{}, 5)
	Handle(app, "POST", "/upload", func(c *fiber.Ctx) error {
		begun <- struct{}{}
		_, err := Body(c)
		return err
	})
	addr := serve(t, app)
	begin := func(from string) net.Conn {
		t.Helper()
		conn := dial(t, addr, from)
		sent := "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("1", 2*prefetchBytes)
		if _, err := io.WriteString(conn, sent); err != nil {
			t.Fatal(err)
		}
		<-begun
		return conn
	}
	few := begin("127.0.0.3")
	begin("127.0.0.3")
	for range 3 {
		begin("127.0.0.2")
	}
	testkit.Eventually(t, time.Minute, func() error { // once the host waits for their bodies
		conn := dial(t, addr, "127.0.0.4")
		if _, err := io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			return err
		}
		if got, err := answered(conn); err != nil || got.status != 200 {
			return fmt.Errorf("another address is answered %d, %w", got.status, err)
		}
		return nil
	})
	if n := turnedAway(app, madeRoom); n != 1 {
		t.Errorf("room was made %v times", n)
	}
	if _, err := io.WriteString(few, strings.Repeat("1", 100_000-2*prefetchBytes)); err != nil {
		t.Fatal(err)
	}
	if got := hear(t, few); got.status != 200 {
		t.Errorf("who has fewer was cut off: %d", got.status)
	}
}
