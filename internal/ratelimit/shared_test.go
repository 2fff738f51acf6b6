package ratelimit_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/ratelimit"
)

var errAway = errors.New("away")

// others are processes that admit everything, or do not answer.
type others struct{ away bool }

func (o *others) Settle(ctx context.Context, _ ratelimit.Question) (ratelimit.Verdict, error) {
	return ratelimit.Verdict{Refused: ratelimit.Admitted}, o.Ping(ctx)
}

func (o *others) Release(ctx context.Context, _, _ string) error { return o.Ping(ctx) }

func (o *others) Ping(context.Context) error {
	if o.away {
		return errAway
	}
	return nil
}

func TestWhatWasAdmittedWithoutOthersIsCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, o := prometheus.NewRegistry(), &others{}
		l := ratelimit.New(config.Default().Limits, ratelimit.Deps{Log: slog.New(slog.DiscardHandler), Metrics: reg, Shared: o})
		expect := func(shared, local float64) {
			t.Helper()
			if up := gauge(t, reg, "millrace_limits_shared"); up != shared {
				t.Errorf("limits are shared: %v, want %v", up, shared)
			}
			if n := gauge(t, reg, "millrace_limits_local_total"); n != local {
				t.Errorf("%v requests were admitted without others, want %v", n, local)
			}
		}
		ask(t, l, byKey("together", ratelimit.Query), 40)
		expect(1, 0)

		o.away = true
		admitted, refused := ask(t, l, byKey("alone", ratelimit.Query), 1000)
		if refused == nil {
			t.Fatal("nothing was refused, so that the count tells nothing")
		}
		expect(0, float64(admitted)) // and not what was refused
	})
}
