package org

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/fair"
)

var somebody = fair.Owner{Tenant: "stranger", Name: "192.0.2.1"}

func TestPasswords_HashAtMostOnePerCore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const cores = 2
		p := newPasswords(cores, current)
		let := make(chan struct{})
		var running, most, done atomic.Int32
		var wg sync.WaitGroup
		work := func() {
			most.Store(max(most.Load(), running.Add(1)))
			<-let
			running.Add(-1)
			done.Add(1)
		}
		callers := cores + waitingPerOwner
		for range callers {
			wg.Go(func() {
				if err := p.turn(t.Context(), somebody, work); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if running.Load() != cores {
			t.Errorf("%d run, want %d", running.Load(), cores)
		}
		err := p.turn(t.Context(), somebody, work)
		if !apierr.Is(err, apierr.ServiceUnavailable) || apierr.Of(err).RetryAfter <= 0 {
			t.Errorf("one more than may wait: %v", err)
		}
		close(let)
		wg.Wait()
		if most.Load() != cores || int(done.Load()) != callers {
			t.Errorf("%d were done, at most %d at a time", done.Load(), most.Load())
		}
		if err := p.turn(t.Context(), somebody, func() {}); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestPasswords_TakeTurnsByTenantAndOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPasswords(1, current)
		step := make(chan struct{})
		var order []fair.Owner // by who ran
		var wg sync.WaitGroup
		call := func(share fair.Owner, want error) {
			t.Helper()
			wg.Go(func() {
				err := p.turn(t.Context(), share, func() {
					order = append(order, share)
					<-step
				})
				if !errors.Is(err, want) {
					t.Errorf("turn(%v) = %v, want %v", share, err, want)
				}
			})
			synctest.Wait()
		}
		network := func(tenant string, i int) fair.Owner { return fair.Owner{Tenant: tenant, Name: strconv.Itoa(i)} }
		// Three tenants have as many callers as they may: one network fills its part, others the rest.
		for _, tenant := range []string{"stranger", "recent", "link"} {
			for range waitingPerOwner + 1 {
				call(network(tenant, 0), nil)
			}
			call(network(tenant, 0), fair.ErrOwnerFull)
			for i := range waitingPerCore - waitingPerOwner {
				call(network(tenant, 1+i), nil)
			}
			call(network(tenant, 1), fair.ErrTenantFull)
		}
		call(network("stranger", 99), nil) // a network without a caller
		ann := fair.Owner{Tenant: "known", Name: "ann@example.com"}
		call(ann, nil)
		for range 8 {
			step <- struct{}{}
			synctest.Wait()
		}
		want := []fair.Owner{
			network("stranger", 0), // before anybody else came
			network("stranger", 1), network("recent", 0), network("link", 0), ann,
			network("stranger", 2), network("recent", 1), network("link", 1), network("stranger", 3),
		}
		if !slices.Equal(order, want) {
			t.Errorf("turns went to %v, want %v", order, want)
		}
		close(step)
		wg.Wait()
	})
}

func TestWhoGivesUpWaitingDoesNoWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPasswords(1, current)
		let := make(chan struct{})
		go func() { _ = p.turn(t.Context(), somebody, func() { <-let }) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.turn(ctx, somebody, func() { t.Error("it did the work") }); !errors.Is(err, context.Canceled) {
			t.Errorf("turn() = %v, want %v", err, context.Canceled)
		}
		close(let)
		synctest.Wait()
	})
}

func TestThePasswordOfNobodyIsAsMuchWorkAsOnesOwn(t *testing.T) {
	t.Parallel()
	p := NewPasswords()
	own, err := p.Hash(t.Context(), somebody, "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	for _, hash := range []string{own, ""} {
		var done []Costs
		p.verify = func(hash, password string) (bool, error) {
			costs, _, tag, err := parsePHC(hash)
			if err != nil || len(tag) != tagLen || password != "wrong" {
				t.Errorf("verifying %q against %q: %v", password, hash, err)
			}
			done = append(done, costs)
			return VerifyPassword(hash, password)
		}
		if ok, err := p.Verify(t.Context(), somebody, hash, "wrong"); ok || err != nil {
			t.Errorf("Verify() = %t, %v", ok, err)
		}
		if !slices.Equal(done, []Costs{current}) {
			t.Errorf("with the hash %q the work was %v, want %v once", hash, done, current)
		}
	}
}

func TestNobodysPasswordIsRight(t *testing.T) {
	t.Parallel()
	p := newPasswords(1, current)
	for _, password := range []string{"", "a password of nobody", "x"} {
		if ok, err := p.Verify(t.Context(), somebody, "", password); ok || err != nil {
			t.Errorf("Verify(%q) = %t, %v", password, ok, err)
		}
	}
	hash, err := p.Hash(t.Context(), somebody, "pa\u0308sswo\u0308rd")
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := p.Verify(t.Context(), somebody, hash, "pässwörd"); !ok || err != nil {
		t.Errorf("Verify() of the same letters = %t, %v", ok, err)
	}
	if _, err := p.Hash(t.Context(), somebody, "short"); !apierr.Is(err, apierr.Validation) {
		t.Errorf("Hash() = %v", err)
	}
}
