package session

import (
	"context"
	"net/netip"
	"time"

	"github.com/millrace/millrace/internal/attempt"
	"github.com/millrace/millrace/internal/fault"
)

// Allowances is the table of attempts: what is tried, counted for whom. A sign-in
// that succeeds is not counted.
var Allowances = struct {
	AccountSignIns, AddressSignIns attempt.Allowance
	AccountResets, AddressResets   attempt.Allowance
	AddressSignUps                 attempt.Allowance
}{
	AccountSignIns: attempt.Allowance{Burst: 10, Interval: 90 * time.Second},
	AddressSignIns: attempt.Allowance{Burst: 30, Interval: 20 * time.Second},
	AccountResets:  attempt.Allowance{Burst: 3, Interval: 20 * time.Minute},
	AddressResets:  attempt.Allowance{Burst: 10, Interval: 2 * time.Minute},
	AddressSignUps: attempt.Allowance{Burst: 10, Interval: 6 * time.Minute},
}

// attempt charges, and returns a RateLimited fault for who has to wait.
func (s *Service) attempt(ctx context.Context, charges ...attempt.Charge) error {
	err := attempt.Take(ctx, s.deps.Attempts, s.now(), charges...)
	if fault.Is(err, fault.RateLimited) {
		s.metrics.refused.Inc()
	}
	return err
}

func ofAccount(a attempt.Allowance, what, email string) attempt.Charge {
	return attempt.Of(a, what+" account", email)
}

func ofAddress(a attempt.Allowance, what string, client netip.Addr) attempt.Charge {
	return attempt.Of(a, what+" address", attempt.Network(client))
}
