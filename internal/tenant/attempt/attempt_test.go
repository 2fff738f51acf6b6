package attempt_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/attempt"
)

// response is a store that answers every charge alike.
type response struct {
	rejection *attempt.Rejection
	err       error
}

func (a response) Charge(context.Context, time.Time, ...attempt.Charge) (*attempt.Rejection, error) {
	return a.rejection, a.err
}

func (response) Refund(context.Context, ...attempt.Charge) error { return nil }

func TestWhoHasToWaitIsToldForHowLongAndWhy(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	c := attempt.Of(attempt.Allowance{Burst: 3, Interval: time.Minute}, "mail", "ann@example.com")
	c.Message = "Too many mails"
	f := apierr.Of(attempt.Take(t.Context(),
		response{rejection: &attempt.Rejection{Charge: c, Wait: time.Minute}}, now, c))
	if f.Code != apierr.RateLimited || f.Message != c.Message || f.RetryAfter != time.Minute {
		t.Errorf("Take() = %+v", f)
	}
	if f.Rate.Limit != 3 || !f.Rate.Reset.Equal(now.Add(time.Minute)) {
		t.Errorf("Take() tells %+v", f.Rate)
	}
	if err := attempt.Take(t.Context(), response{}, now, c); err != nil {
		t.Errorf("Take() of what is allowed = %v", err)
	}
	away := errors.New("away")
	if err := attempt.Take(t.Context(), response{err: away}, now, c); !errors.Is(err, away) {
		t.Errorf("Take() = %v, want %v", err, away)
	}
}

func TestAChargeIsOneOfWhatAndOfWhom(t *testing.T) {
	t.Parallel()
	key := func(what, who string) [32]byte { return attempt.Of(attempt.Allowance{}, what, who).Key }
	mail := key("mail", "x")
	for _, c := range []struct {
		what, who string
		same      bool
	}{{"mail", "x", true}, {"mail", "y", false}, {"mails", "x", false}, {"mai", "lx", false}} {
		if got := key(c.what, c.who) == mail; got != c.same {
			t.Errorf("%s of %s is the same charge: %t", c.what, c.who, got)
		}
	}
}

func TestANetworkIsWhatOneSubscriberHas(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "2001:db8:0:1::7": "2001:db8:0:1::/64", "2001:db8:0:1:ffff::": "2001:db8:0:1::/64",
	} {
		if got := attempt.Network(netip.MustParseAddr(text)); got != want {
			t.Errorf("Network(%s) = %s, want %s", text, got, want)
		}
	}
}
