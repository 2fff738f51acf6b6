package auth

import (
	"context"
	"net/netip"

	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// From is where a credential came from, and what the trying out of credentials is counted
// against.
type From struct {
	// Addr is the caller's address.
	Addr netip.Addr
	// Limits counts a credential that is not good as a request of a caller without one, by
	// the address, in the Family of what was asked. nil counts none.
	Limits *ratelimit.Limiter
	Family ratelimit.Family
}

// MayAsk returns a RateLimited error when the address has used up what callers without a
// credential have, so that nothing is looked up for it. It counts nothing.
func (f From) MayAsk() error { return f.Limits.Check(f.request()) }

// Failed counts a credential that is not good, and returns what its caller learns: why, or
// a RateLimited error.
func (f From) Failed(ctx context.Context, why error) error {
	if _, err := f.Limits.Admit(ctx, f.request()); err != nil { // a client's lease holds no slot
		return err
	}
	return why
}

func (f From) request() ratelimit.Request {
	return ratelimit.Request{Family: f.Family, Who: ratelimit.Identity{Kind: ratelimit.Client, Addr: f.Addr}}
}
