// Package attempt counts how often somebody tries what others pay for: passwords that
// may be guessed, mails that people get.
//
// It promises that attempts are counted in the metadata store, so that neither several
// processes nor a restart give more of them, and that neither accounts nor addresses
// stand there as text. What is counted, for whom and how often stands in the tables of
// the packages that charge.
package attempt

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Allowance is how often something may be tried: Burst times at once, and once
// more after every Interval.
type Allowance struct {
	Burst    int
	Interval time.Duration
}

// Charge is one attempt of somebody.
type Charge struct {
	Allowance

	Key [sha256.Size]byte // stands for what is tried and by whom
	// Message is what a caller is told when the allowance is used up; empty for the
	// standard message.
	Message string
}

// Of returns the charge for what is tried by whom.
func Of(a Allowance, what, who string) Charge {
	return Charge{Key: sha256.Sum256([]byte(what + "\x00" + who)), Allowance: a}
}

// Network names the network of a client: its address of IPv4, and the first 64 bits of
// IPv6, which is what one subscriber has.
func Network(client netip.Addr) string {
	if client.Is6() {
		p, _ := client.Prefix(64) // 64 bits are within it
		return p.String()
	}
	return client.String()
}

// Store keeps what was charged. It is exact among any number of processes.
type Store interface {
	// Charge counts one attempt for every charge, or none of them: then it returns
	// the rejection of the first that is used up. Charges of many people stand before
	// those of few, in one order everywhere.
	Charge(ctx context.Context, now time.Time, charges ...Charge) (*Rejection, error)
	// Refund takes charges back.
	Refund(ctx context.Context, charges ...Charge) error
}

// Rejection says why an attempt was not counted.
type Rejection struct {
	Charge Charge        // the one that is used up
	Wait   time.Duration // until it takes one attempt more
}

// Take counts one attempt for every charge, or none of them and returns a RateLimited
// error for who has to wait.
func Take(ctx context.Context, s Store, now time.Time, charges ...Charge) error {
	rejection, err := s.Charge(ctx, now, charges...)
	if err != nil || rejection == nil {
		return err
	}
	return &apierr.Error{
		Code: apierr.RateLimited, Message: rejection.Charge.Message, RetryAfter: rejection.Wait,
		Rate: &apierr.Rate{Limit: rejection.Charge.Burst, Reset: now.Add(rejection.Wait)},
	}
}
