package httpkit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// wholeConn is a connection on which everything has arrived that will.
type wholeConn struct {
	in    *strings.Reader
	out   bytes.Buffer
	reads int
}

func (c *wholeConn) Read(b []byte) (int, error) {
	c.reads++
	return c.in.Read(b)
}

func (c *wholeConn) Write(b []byte) (int, error) { return c.out.Write(b) }
func (*wholeConn) Close() error                  { return nil }
func (*wholeConn) LocalAddr() net.Addr           { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (*wholeConn) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2} }
func (*wholeConn) SetDeadline(time.Time) error      { return nil }
func (*wholeConn) SetReadDeadline(time.Time) error  { return nil }
func (*wholeConn) SetWriteDeadline(time.Time) error { return nil }

// Every read is a call of the system: two buffers of 8 KiB, in which the header is, and then all
// the rest at once, and one more that finds nothing.
func TestABodyThatIsThereIsReadInFewPieces(t *testing.T) {
	t.Parallel()
	for length, want := range map[int]int{46_000: 3, 64_000: 3} {
		app := newApp(t, Config{Host: Ingestion, BodyLimit: 1 << 20})
		app.Handler() // builds the routes, as listening does
		body := strings.Repeat("x", length)
		c := &wholeConn{in: strings.NewReader(
			fmt.Sprintf("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", length, body))}
		if err := app.Server().ServeConn(c); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if !strings.HasSuffix(c.out.String(), body) {
			t.Fatalf("%d bytes: the response has %d: %.100s", length, c.out.Len(), c.out.String())
		}
		if c.reads-1 != want {
			t.Errorf("%d bytes are read in %d pieces, want %d", length, c.reads-1, want)
		}
	}
}
