package httpkit

import (
	"errors"
	"os"
	"time"
)

// lives says whether a live stream goes on. It may be called on nil.
func (c *guardedConn) lives(live bool) {
	if c != nil {
		c.listener.lives(c, live)
	}
}

// attend calls gone once when the client of a connection whose response goes on for long has
// left, until stop is called: a connection to which little is written would take its place
// for another minute otherwise. No client sends anything meanwhile; one that does is as good
// as gone. It may be called on nil.
func (c *guardedConn) attend(gone func()) (stop func()) {
	if c == nil {
		return func() {}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, err := c.Conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			gone()
		}
	}()
	return func() {
		c.Conn.SetReadDeadline(time.Unix(1, 0)) //nolint:errcheck // fails for a closed connection only
		<-ended
		c.read = time.Time{}   // is not in force
		c.responds(time.Now()) //nolint:errcheck // see above
	}
}
