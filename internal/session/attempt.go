package session

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"time"

	"github.com/millrace/millrace/internal/fault"
)

// Allowance is how often something may be tried: Burst times at once, and once
// more after every Interval.
type Allowance struct {
	Burst    int
	Interval time.Duration
}

// Allowances is the table of attempts: what is tried, counted for whom. A sign-in
// that succeeds is not counted.
var Allowances = struct {
	AccountSignIns, AddressSignIns Allowance
	AccountResets, AddressResets   Allowance
	AddressSignUps                 Allowance
}{
	AccountSignIns: Allowance{10, 90 * time.Second},
	AddressSignIns: Allowance{30, 20 * time.Second},
	AccountResets:  Allowance{3, 20 * time.Minute},
	AddressResets:  Allowance{10, 2 * time.Minute},
	AddressSignUps: Allowance{10, 6 * time.Minute},
}

// Charge is one attempt of somebody.
type Charge struct {
	Key [sha256.Size]byte // stands for what is tried and by whom
	Allowance
}

// Attempts counts attempts. It is exact among any number of processes.
type Attempts interface {
	// Charge counts one attempt for every charge, or none of them: then it returns
	// the refusal of the first that is used up.
	Charge(ctx context.Context, now time.Time, charges ...Charge) (*Refusal, error)
	// Refund takes charges back.
	Refund(ctx context.Context, charges ...Charge) error
}

// Refusal says why an attempt was not counted.
type Refusal struct {
	Limit int           // the burst of the allowance that is used up
	Wait  time.Duration // until it takes one attempt more
}

// attempt charges, and returns a RateLimited fault for who has to wait.
func (s *Service) attempt(ctx context.Context, charges ...Charge) error {
	now := s.now()
	refusal, err := s.deps.Attempts.Charge(ctx, now, charges...)
	if err != nil || refusal == nil {
		return err
	}
	s.metrics.refused.Inc()
	return &fault.Error{
		Code: fault.RateLimited, RetryAfter: refusal.Wait,
		Rate: &fault.Rate{Limit: refusal.Limit, Reset: now.Add(refusal.Wait)},
	}
}

// chargeOf names who tries what. Neither accounts nor addresses stand in the
// store as text.
func chargeOf(a Allowance, what, who string) Charge {
	return Charge{Key: sha256.Sum256([]byte(what + "\x00" + who)), Allowance: a}
}

func ofAccount(a Allowance, what, email string) Charge { return chargeOf(a, what+" account", email) }

// ofAddress counts a client by its address; of IPv6 by the network of 64 bits,
// which is what one subscriber has.
func ofAddress(a Allowance, what string, client netip.Addr) Charge {
	who := client.String()
	if client.Is6() {
		p, _ := client.Prefix(64) // 64 bits are within it
		who = p.String()
	}
	return chargeOf(a, what+" address", who)
}
