package faultproxy_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/fault/faultproxy"
)

// answering is a server that answers each line with "did <line>!" and counts what
// it did.
type answering struct {
	did atomic.Int64
	eof atomic.Int64 // connections whose client ended its stream
}

func serve(t *testing.T) (s *answering, addr string) {
	t.Helper()
	s = &answering{}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				in := bufio.NewReader(c)
				line, err := in.ReadString('\n')
				for ; err == nil; line, err = in.ReadString('\n') {
					s.did.Add(1)
					fmt.Fprintf(c, "did %s!", strings.TrimSuffix(line, "\n"))
				}
				if err == io.EOF {
					s.eof.Add(1)
				}
			})
		}
	})
	return s, l.Addr().String()
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp4", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

// ask sends a line and returns its response.
func ask(c net.Conn, line string) (string, error) {
	if _, err := fmt.Fprintln(c, line); err != nil {
		return "", err
	}
	return bufio.NewReader(c).ReadString('!')
}

func TestWhatPassesIsUnchanged(t *testing.T) {
	t.Parallel()
	_, addr := serve(t)
	c := dial(t, faultproxy.Start(t, addr).Addr())
	line := strings.Repeat("x", 60_000)
	for range 3 {
		if got, err := ask(c, line); err != nil || got != "did "+line+"!" {
			t.Fatalf("got %d bytes, %v", len(got), err)
		}
	}
}

func TestAResponseIsLostAfterTheServerHasActed(t *testing.T) {
	t.Parallel()
	s, addr := serve(t)
	p := faultproxy.Start(t, addr)
	c := dial(t, p.Addr())
	p.Set(faultproxy.Rule{Kind: faultproxy.DropResponse, Match: "insert", Ends: '!', Times: 1})
	if got, err := ask(c, "select"); err != nil || got != "did select!" {
		t.Fatalf("another request got %q, %v", got, err)
	}
	if got, err := ask(c, "insert"); err == nil {
		t.Errorf("the request got %q, want no answer", got)
	}
	if got := s.did.Load(); got != 2 {
		t.Errorf("the server did %d things, want both", got)
	}
	if got := p.Strikes(); got != 1 {
		t.Errorf("%d strikes, want 1", got)
	}
	if got, err := ask(dial(t, p.Addr()), "insert"); err != nil || got != "did insert!" {
		t.Errorf("after its one strike the rule gave %q, %v", got, err)
	}
}

func TestARequestIsPickedAcrossTheEdgesOfWhatIsRead(t *testing.T) {
	t.Parallel()
	_, addr := serve(t)
	p := faultproxy.Start(t, addr)
	p.Set(faultproxy.Rule{Kind: faultproxy.DropResponse, Match: "needle", Ends: '!'})
	c := dial(t, p.Addr())
	io.WriteString(c, "nee")
	if _, err := ask(dial(t, p.Addr()), "let the first part through"); err != nil {
		t.Fatal(err)
	}
	if got, err := ask(c, "dle"); err == nil {
		t.Errorf("got %q, want the answer lost", got)
	}
}

func TestARequestIsCutAfterSoManyBytes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		bytes int64
		did   int64
	}{
		"one byte before its end": {10, 0},
		"right at its end":        {11, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, addr := serve(t)
			p := faultproxy.Start(t, addr)
			p.Set(faultproxy.Rule{Kind: faultproxy.CutRequest, Bytes: tc.bytes})
			got, err := ask(dial(t, p.Addr()), "0123456789")
			if lost := err != nil; lost != (tc.did == 0) || s.did.Load() != tc.did {
				t.Errorf("got %q, %v; the server did %d, want %d", got, err, s.did.Load(), tc.did)
			}
		})
	}
}

func TestAResponseIsCutInTheMiddle(t *testing.T) {
	t.Parallel()
	s, addr := serve(t)
	p := faultproxy.Start(t, addr)
	p.Set(faultproxy.Rule{Kind: faultproxy.CutResponse, Bytes: 5})
	c := dial(t, p.Addr())
	got, err := ask(c, "abc")
	if err == nil || len(got) > 5 {
		t.Errorf("got %q, %v; want at most 5 bytes and an error", got, err)
	}
	if s.did.Load() != 1 {
		t.Error("the server did not act")
	}
}

func TestAHalfClosedConnectionStillAnswers(t *testing.T) {
	t.Parallel()
	s, addr := serve(t)
	p := faultproxy.Start(t, addr)
	c := dial(t, p.Addr())
	p.Set(faultproxy.Rule{Kind: faultproxy.HalfClose, Bytes: 4})
	fmt.Fprint(c, "abc\ndef\n")
	got, err := io.ReadAll(c)
	if string(got) != "did abc!" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	testkit.Eventually(t, 10*time.Second, func() error {
		if s.eof.Load() != 1 {
			return errors.New("the server has not seen the end")
		}
		return nil
	})
}

func TestABlackHoleIsSilentUntilItEnds(t *testing.T) {
	t.Parallel()
	s, addr := serve(t)
	p := faultproxy.Start(t, addr)
	c := dial(t, p.Addr())
	if _, err := ask(c, "before"); err != nil {
		t.Fatal(err)
	}
	p.Set(faultproxy.Rule{Kind: faultproxy.BlackHole})
	fmt.Fprintln(c, "during")
	c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Error("something came out of a black hole")
	}
	if s.did.Load() != 1 {
		t.Error("something fell through a black hole")
	}
	p.Clear()
	c.SetReadDeadline(time.Now().Add(20 * time.Second))
	if got, err := bufio.NewReader(c).ReadString('!'); err != nil || got != "did during!" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
}

func TestADelayIsAdded(t *testing.T) {
	t.Parallel()
	_, addr := serve(t)
	p := faultproxy.Start(t, addr)
	p.Set(faultproxy.Rule{Kind: faultproxy.Delay, Delay: 50 * time.Millisecond})
	start := time.Now()
	if _, err := ask(dial(t, p.Addr()), "x"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 100*time.Millisecond {
		t.Errorf("there and back took %s, want at least 100 ms", took)
	}
}

func TestRejectionEndsOpenConnectionsAndNewOnes(t *testing.T) {
	t.Parallel()
	_, addr := serve(t)
	p := faultproxy.Start(t, addr)
	c := dial(t, p.Addr())
	if _, err := ask(c, "x"); err != nil {
		t.Fatal(err)
	}
	p.Set(faultproxy.Rule{Kind: faultproxy.Refuse})
	if got, err := ask(c, "x"); err == nil {
		t.Errorf("an open connection answers %q", got)
	}
	if fresh, err := net.Dial("tcp4", p.Addr()); err == nil {
		defer fresh.Close()
		if got, err := ask(fresh, "x"); err == nil {
			t.Errorf("a new connection answers %q", got)
		}
	}
	p.Clear()
	if _, err := ask(dial(t, p.Addr()), "x"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
