package query

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/sony/gobreaker/v2"

	"github.com/millrace/millrace/internal/analytics"
)

// The breaker of a server that does not answer, not worth a setting.
const (
	breakerTrips = 5           // failures one after the other
	breakerPause = time.Second // before it is asked again
	probeTime    = time.Second // for that
)

// newBreaker returns the breaker of a Runner. It counts whether the server answers: an
// exception is a response, but for that of one which is going down. A caller that went
// away and a queue of our own say nothing about the server, and are not counted at all.
func newBreaker() *gobreaker.CircuitBreaker[*analytics.Table] {
	return gobreaker.NewCircuitBreaker[*analytics.Table](gobreaker.Settings{
		Name: "clickhouse-reads", Timeout: breakerPause,
		ReadyToTrip:  func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= breakerTrips },
		IsSuccessful: func(err error) bool { return !silent(err) },
		IsExcluded: func(err error) bool {
			return errors.Is(err, errBusy) || errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
		},
	})
}

// silent reports whether the server did not do its part.
func silent(err error) bool {
	answered := ch.IsException(err) && !ch.IsErr(err, proto.ErrAborted)
	return err != nil && !answered && !errors.Is(err, errColumns)
}

// withCause adds to an error why the context ended: a caller that went away because its
// time was over had a server that did not answer in it.
func withCause(ctx context.Context, err error) error {
	if err != nil && errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return errors.Join(err, context.DeadlineExceeded)
	}
	return err
}

// probe asks a server that did not answer for a while whether it does now, once for
// all who want to know. A statement would not do: it may take long, and meanwhile
// nobody could be answered.
func (r *Runner) probe(ctx context.Context) error {
	if r.breaker.State() != gobreaker.StateHalfOpen {
		return nil
	}
	done := r.probing.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTime)
		defer cancel()
		_, err := r.breaker.Execute(func() (*analytics.Table, error) { return nil, r.Ping(ctx) })
		return nil, err
	})
	select {
	case response := <-done:
		return response.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// verdicts say what exceptions mean for callers; those that are in no row mean that
// the statement failed.
var verdicts = map[proto.Error]error{
	159: analytics.ErrTimeout, // TIMEOUT_EXCEEDED
	160: analytics.ErrTimeout, // TOO_SLOW
	209: analytics.ErrTimeout, // SOCKET_TIMEOUT

	158: analytics.ErrTooLarge, // TOO_MANY_ROWS
	191: analytics.ErrTooLarge, // SET_SIZE_LIMIT_EXCEEDED
	241: analytics.ErrTooLarge, // MEMORY_LIMIT_EXCEEDED
	307: analytics.ErrTooLarge, // TOO_MANY_BYTES
	396: analytics.ErrTooLarge, // TOO_MANY_ROWS_OR_BYTES

	201: analytics.ErrUnavailable, // QUOTA_EXCEEDED
	202: analytics.ErrUnavailable, // TOO_MANY_SIMULTANEOUS_QUERIES
	210: analytics.ErrUnavailable, // NETWORK_ERROR
	236: analytics.ErrUnavailable, // ABORTED
	279: analytics.ErrUnavailable, // ALL_CONNECTION_TRIES_FAILED
	394: analytics.ErrUnavailable, // QUERY_WAS_CANCELLED
	745: analytics.ErrUnavailable, // SERVER_OVERLOADED
}

// judge adds to an error what it means for callers.
func judge(ctx context.Context, err error) error {
	if e, ok := ch.AsException(err); ok {
		if verdict := verdicts[e.Code]; verdict != nil {
			return fmt.Errorf("%w: %w", verdict, err)
		}
		return err
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && !errors.Is(err, errBusy):
		return fmt.Errorf("%w: %w", analytics.ErrTimeout, err)
	case errors.Is(err, errColumns), errors.Is(err, context.Canceled):
		return err
	}
	return fmt.Errorf("%w: %w", analytics.ErrUnavailable, err)
}
