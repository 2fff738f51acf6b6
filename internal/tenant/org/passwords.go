package org

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/fair"
)

// Bounds of the callers that wait for their turn. At 30 ms a hash, a tenant's callers wait
// about two seconds for each tenant that waits.
const (
	waitingPerCore  = 64 // of one tenant, for each core
	waitingPerOwner = 8  // of one owner
	waitingTenants  = 4  // that may have all of them waiting
)

// Passwords hashes and verifies passwords for many callers at once: as many at a
// time as there are cores, so that a flood of attempts takes neither the memory
// nor more of the processor than that. Each caller names whose share it uses. Tenants get
// turns, and the owners of each, so that a flood delays its own share. More callers than may
// wait for a share get a ServiceUnavailable error. It is safe for concurrent use.
type Passwords struct {
	slots  *fair.Scheduler // one for each core
	costs  Costs           // of new hashes
	decoy  func() string
	verify func(hash, password string) (bool, error) // VerifyPassword; counted by a test
}

// NewPasswords returns one for this machine.
func NewPasswords() *Passwords { return NewPasswordsAt(current) }

// NewPasswordsAt is NewPasswords with other costs of new hashes: for tests of what has
// nothing to do with hashing, which need not pay for it.
func NewPasswordsAt(costs Costs) *Passwords { return newPasswords(runtime.GOMAXPROCS(0), costs) }

func newPasswords(cores int, costs Costs) *Passwords {
	return &Passwords{
		slots: fair.New(fair.Config{
			Slots: cores, PerOwner: cores, OwnerQueue: waitingPerOwner,
			TenantQueue: cores * waitingPerCore, Queue: cores * waitingPerCore * waitingTenants,
		}, nil),
		costs: costs, verify: VerifyPassword,
		decoy: sync.OnceValue(func() string { return costs.hash("a password of nobody") }),
	}
}

// Hash is HashPassword in its turn.
func (p *Passwords) Hash(ctx context.Context, share fair.Owner, password string) (hash string, err error) {
	if err := checkPassword(password); err != nil {
		return "", err // at once: it is no secret which passwords are too short
	}
	return p.HashText(ctx, share, password)
}

// HashText is Hash of a text for which the rules of people's passwords do not count.
func (p *Passwords) HashText(ctx context.Context, share fair.Owner, text string) (hash string, err error) {
	if turnErr := p.turn(ctx, share, func() { hash = p.costs.hash(text) }); turnErr != nil {
		return "", turnErr
	}
	return hash, nil
}

// Verify is VerifyPassword in its turn. An empty hash stands for an account that
// does not exist: no password is its own, and finding that out takes as long as
// for one that does.
func (p *Passwords) Verify(ctx context.Context, share fair.Owner, hash, password string) (ok bool, err error) {
	missing := hash == ""
	if missing {
		hash = p.decoy()
	}
	if turnErr := p.turn(ctx, share, func() { ok, err = p.verify(hash, password) }); turnErr != nil {
		return false, turnErr
	}
	return ok && !missing, err
}

// turn runs work when its turn has come, unless too many wait or ctx ends first.
func (p *Passwords) turn(ctx context.Context, share fair.Owner, work func()) error {
	claims, err := p.slots.Admit(share, 1)
	if err != nil {
		return &apierr.Error{
			Code: apierr.ServiceUnavailable, RetryAfter: 2 * time.Second, Err: fmt.Errorf("hashing a password: %w", err),
		}
	}
	defer claims[0].Release()
	if err := claims[0].Acquire(ctx); err != nil {
		return err
	}
	work()
	return nil
}
