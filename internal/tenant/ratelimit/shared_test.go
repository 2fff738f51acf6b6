package ratelimit_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

var errAway = errors.New("away")

// others are processes that admit everything, or do not answer.
type others struct {
	away  bool
	asked []string // the accounts
}

func (o *others) Settle(ctx context.Context, q ratelimit.Question) (ratelimit.Verdict, error) {
	o.asked = append(o.asked, q.Account)
	return ratelimit.Verdict{Rejected: ratelimit.Admitted}, o.Ping(ctx)
}

func (o *others) Release(ctx context.Context, _, _ string) error { return o.Ping(ctx) }

func (o *others) Ping(context.Context) error {
	if o.away {
		return errAway
	}
	return nil
}

func salt() []byte { return bytes.Repeat([]byte{7}, 32) }

func TestOthersAreNotToldAClientsAddress(t *testing.T) {
	t.Parallel()
	o, known := &others{}, salt()
	limiter := func() *ratelimit.Limiter {
		return ratelimit.New(config.Default().Limits, ratelimit.Deps{
			Log: slog.New(slog.DiscardHandler), Shared: o, Salt: func() []byte { return known },
		})
	}
	a, b := limiter(), limiter()
	one, another := byClient("web_1", "203.0.113.77", ratelimit.Query), byClient("web_1", "203.0.113.78", ratelimit.Query)
	ask(t, a, one, 1)
	ask(t, b, one, 1)
	ask(t, a, another, 1)
	known = bytes.Repeat([]byte{8}, 32)
	ask(t, a, one, 1)
	if len(o.asked) != 4 || o.asked[0] != o.asked[1] || o.asked[0] == o.asked[2] || o.asked[0] == o.asked[3] {
		t.Errorf("the accounts are %q", o.asked)
	}
	for _, name := range o.asked {
		if !regexp.MustCompile(`^client:web_1:[0-9a-f]{32}$`).MatchString(name) {
			t.Errorf("an account is called %s", name)
		}
	}
	// Without a salt this process counts by itself.
	known = nil
	admitted, rejected := ask(t, a, another, 1000)
	if len(o.asked) != 4 || rejected == nil || admitted == 0 {
		t.Errorf("without a salt %d were admitted, the others were asked %q", admitted, o.asked[4:])
	}
}

func TestWhatWasAdmittedWithoutOthersIsCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, o := prometheus.NewRegistry(), &others{}
		l := ratelimit.New(config.Default().Limits,
			ratelimit.Deps{Log: slog.New(slog.DiscardHandler), Metrics: reg, Shared: o, Salt: salt})
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
		admitted, rejected := ask(t, l, byKey("alone", ratelimit.Query), 1000)
		if rejected == nil {
			t.Fatal("nothing was refused, so that the count tells nothing")
		}
		expect(0, float64(admitted)) // and not what was rejected
	})
}
