package org

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/millrace/millrace/internal/contract/apierr"
)

func TestNoMorePasswordsAreHashedAtATimeThanThereAreCores(t *testing.T) {
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
		callers := cores * (1 + waitingPerCore)
		for range callers {
			wg.Go(func() {
				if err := p.turn(t.Context(), work); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if running.Load() != cores {
			t.Errorf("%d run, want %d", running.Load(), cores)
		}
		if err := p.turn(t.Context(), work); !apierr.Is(err, apierr.ServiceUnavailable) || apierr.Of(err).RetryAfter <= 0 {
			t.Errorf("one more than may wait: %v", err)
		}
		close(let)
		wg.Wait()
		if most.Load() != cores || int(done.Load()) != callers {
			t.Errorf("%d were done, at most %d at a time", done.Load(), most.Load())
		}
		if err := p.turn(t.Context(), func() {}); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestWhoGivesUpWaitingDoesNoWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPasswords(1, current)
		let := make(chan struct{})
		go func() { _ = p.turn(t.Context(), func() { <-let }) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.turn(ctx, func() { t.Error("it did the work") }); !errors.Is(err, context.Canceled) {
			t.Errorf("turn() = %v, want %v", err, context.Canceled)
		}
		close(let)
		synctest.Wait()
	})
}

func TestThePasswordOfNobodyIsAsMuchWorkAsOnesOwn(t *testing.T) {
	t.Parallel()
	p := NewPasswords()
	own, err := p.Hash(t.Context(), "correct horse")
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
		if ok, err := p.Verify(t.Context(), hash, "wrong"); ok || err != nil {
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
		if ok, err := p.Verify(t.Context(), "", password); ok || err != nil {
			t.Errorf("Verify(%q) = %t, %v", password, ok, err)
		}
	}
	hash, err := p.Hash(t.Context(), "pa\u0308sswo\u0308rd")
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := p.Verify(t.Context(), hash, "pässwörd"); !ok || err != nil {
		t.Errorf("Verify() of the same letters = %t, %v", ok, err)
	}
	if _, err := p.Hash(t.Context(), "short"); !apierr.Is(err, apierr.Validation) {
		t.Errorf("Hash() = %v", err)
	}
}
