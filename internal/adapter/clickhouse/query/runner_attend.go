package query

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
)

// quietTime is how long a statement may be silent before its server is asked for a sign
// of life. One at work tells of its progress ten times a second, but not while it
// prepares the statement, which may take long.
const quietTime = 2 * time.Second

// attended runs f, which calls heard for every packet, on a connection to an address. It
// ends the context of f, and returns clickhouse.ErrHangs, when the server says nothing for quietTime
// and then accepts no connection within clickhouse.dial_timeout: nobody waits for the
// whole time of a query for a server that does not work.
func (r *Runner) attended(ctx context.Context, addr string, f func(ctx context.Context, heard func()) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var packets atomic.Int64
	go r.attend(ctx, addr, &packets, end)
	err := f(ctx, func() { packets.Add(1) })
	if why := context.Cause(ctx); err != nil && errors.Is(why, clickhouse.ErrHangs) {
		return why // not that it was cancelled, which is what callers do
	}
	return err
}

// attend looks after a statement until its context ends.
func (r *Runner) attend(ctx context.Context, addr string, packets *atomic.Int64, end context.CancelCauseFunc) {
	every := time.NewTicker(quietTime)
	defer every.Stop()
	for seen := int64(0); ; seen = packets.Load() {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		if packets.Load() > seen || !r.hangs(ctx, addr) || packets.Load() > seen {
			continue
		}
		if ctx.Err() != nil { // it was answered meanwhile
			return
		}
		clickhouse.AddressFailed(addr)
		end(fmt.Errorf("%w: %s", clickhouse.ErrHangs, addr))
		return
	}
}

// hangs reports whether a new connection to an address is not accepted in time, which is
// found out once for all who want to know. A rejection is a response.
func (r *Runner) hangs(ctx context.Context, addr string) bool {
	done := r.probing.DoChan("connect to "+addr, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.servers.DialTimeout)
		defer cancel()
		c, err := clickhouse.DialAddr(ctx, r.servers, addr, 1)
		if err != nil {
			return nil, errors.Join(err, ctx.Err()) // which says it where the connection was closed for it
		}
		return nil, c.Close()
	})
	select {
	case response := <-done:
		var late net.Error
		return errors.Is(response.Err, context.DeadlineExceeded) || errors.As(response.Err, &late) && late.Timeout()
	case <-ctx.Done():
		return false
	}
}

// worthAgain reports whether a statement that the server was silent about may be answered
// if it is sent again, on another connection: where none was made there will be none, and
// a server that hangs goes on to.
func (r *Runner) worthAgain(err error) bool {
	return !errors.Is(err, clickhouse.ErrUnreached) && (len(r.servers.Addr) > 1 || !errors.Is(err, clickhouse.ErrHangs))
}
