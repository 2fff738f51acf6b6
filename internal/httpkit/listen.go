package httpkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/lifecycle"
)

const (
	// settle is how long a stop keeps idle connections open, so that a request
	// already on its way finds somebody.
	settle = time.Second
	// lingerTime and lingerBytes bound the reading after a connection's last
	// answer.
	lingerTime  = 2 * time.Second
	lingerBytes = drainBytes
)

// ListenPart serves app at addr, host:port. Setting is the name of the setting
// that addr came from, for the message about an address that cannot be used.
//
// A stop refuses new connections, answers what was begun and what still arrives
// on open connections with Connection: close, and returns when all are closed.
func ListenPart(name, addr, setting string, app *fiber.App, log *slog.Logger) lifecycle.Part {
	var ln *listener
	return lifecycle.Part{
		Name: name,
		Start: func(ctx context.Context) error {
			var lc net.ListenConfig
			l, err := lc.Listen(ctx, "tcp", addr)
			if err != nil {
				return listenError(addr, setting, err)
			}
			ln = &listener{Listener: l}
			log.LogAttrs(ctx, slog.LevelInfo, "listening", slog.String("part", name), slog.String("addr", l.Addr().String()))
			return nil
		},
		Run: func(ctx context.Context) error {
			served := make(chan error, 1)
			go func() { served <- app.Listener(ln) }()
			select {
			case err := <-served:
				return err
			case <-ctx.Done():
			}
			return drain(context.WithoutCancel(ctx), app, ln)
		},
		Stop: func(context.Context) error {
			if ln == nil {
				return nil
			}
			return ln.Close()
		},
	}
}

// drain ends the app. Its time is bounded by the deadlines of requests and
// connections, and by the lifecycle.
func drain(ctx context.Context, app *fiber.App, ln *listener) error {
	if k := kitOf(app); k != nil {
		k.draining.Store(true)
	}
	err := ln.Close()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(settle); app.Server().GetOpenConnectionsCount() > 0 && time.Now().Before(end); {
		<-tick.C
	}
	return errors.Join(err, app.ShutdownWithContext(ctx))
}

func listenError(addr, setting string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s is in use by another program; stop it or set %s to a free address", addr, setting)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s may not be used by this user; set %s to a port above 1023", addr, setting)
	}
	return fmt.Errorf("listening on %s (%s): %w", addr, setting, err)
}

// listener closes once and wraps what it accepts.
type listener struct {
	net.Listener
	once sync.Once
	err  error
}

// Accept returns the next connection.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lingeringConn{Conn: c}, nil
}

// Close closes the listener; fasthttp and a stop both do.
func (l *listener) Close() error {
	l.once.Do(func() { l.err = l.Listener.Close() })
	return l.err
}

// lingeringConn is a connection that may be closed while its client still
// sends. A plain close would then reset it and take the answer along.
type lingeringConn struct {
	net.Conn
	linger atomic.Bool
}

// Close closes the connection; when asked to linger, only after the client has
// seen the end of the answer.
func (c *lingeringConn) Close() error {
	if c.linger.CompareAndSwap(true, false) {
		if tcp, ok := c.Conn.(*net.TCPConn); ok && tcp.CloseWrite() == nil &&
			tcp.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
			// What comes now is thrown away, and how it ends does not matter.
			io.Copy(io.Discard, io.LimitReader(tcp, lingerBytes)) //nolint:errcheck // see above
		}
	}
	return c.Conn.Close()
}
