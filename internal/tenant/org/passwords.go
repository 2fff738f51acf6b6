package org

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// waitingPerCore is how many calls wait for each core at most; at 30 ms each they
// wait about two seconds.
const waitingPerCore = 64

// Passwords hashes and verifies passwords for many callers at once: as many at a
// time as there are cores, so that a flood of attempts takes neither the memory
// nor more of the processor than that. Those who wait are bounded too; one more
// is told ServiceUnavailable. It is safe for concurrent use.
type Passwords struct {
	running chan struct{} // one for each core
	waiting chan struct{} // one for each caller, running or not
	costs   Costs         // of new hashes
	decoy   func() string
	verify  func(hash, password string) (bool, error) // VerifyPassword; counted by a test
}

// NewPasswords returns one for this machine.
func NewPasswords() *Passwords { return NewPasswordsAt(current) }

// NewPasswordsAt is NewPasswords with other costs of new hashes: for tests of what has
// nothing to do with hashing, which need not pay for it.
func NewPasswordsAt(costs Costs) *Passwords { return newPasswords(runtime.GOMAXPROCS(0), costs) }

func newPasswords(cores int, costs Costs) *Passwords {
	return &Passwords{
		running: make(chan struct{}, cores), waiting: make(chan struct{}, cores*(1+waitingPerCore)),
		costs: costs, verify: VerifyPassword,
		decoy: sync.OnceValue(func() string { return costs.hash("a password of nobody") }),
	}
}

// Hash is HashPassword in its turn.
func (p *Passwords) Hash(ctx context.Context, password string) (hash string, err error) {
	if err := checkPassword(password); err != nil {
		return "", err // at once: it is no secret which passwords are too short
	}
	return p.HashText(ctx, password)
}

// HashText is Hash of a text for which the rules of people's passwords do not count.
func (p *Passwords) HashText(ctx context.Context, text string) (hash string, err error) {
	if turnErr := p.turn(ctx, func() { hash = p.costs.hash(text) }); turnErr != nil {
		return "", turnErr
	}
	return hash, nil
}

// Verify is VerifyPassword in its turn. An empty hash stands for an account that
// does not exist: no password is its own, and finding that out takes as long as
// for one that does.
func (p *Passwords) Verify(ctx context.Context, hash, password string) (ok bool, err error) {
	missing := hash == ""
	if missing {
		hash = p.decoy()
	}
	if turnErr := p.turn(ctx, func() { ok, err = p.verify(hash, password) }); turnErr != nil {
		return false, turnErr
	}
	return ok && !missing, err
}

// turn runs work when its turn has come, unless too many wait or ctx ends first.
func (p *Passwords) turn(ctx context.Context, work func()) error {
	select {
	case p.waiting <- struct{}{}:
	default:
		return &apierr.Error{Code: apierr.ServiceUnavailable, RetryAfter: 2 * time.Second, Err: errBusy}
	}
	defer func() { <-p.waiting }()
	select {
	case p.running <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.running }()
	work()
	return nil
}
