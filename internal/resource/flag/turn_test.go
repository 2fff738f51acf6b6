package flag

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/platform/fair"
)

//nolint:paralleltest // it takes all turns of the process
func TestTurn_LeavesProcessorsToOthers(t *testing.T) {
	slots, each := max(1, runtime.GOMAXPROCS(0)/2), max(1, runtime.GOMAXPROCS(0)/4)
	synctest.Test(t, func(t *testing.T) {
		before := costly
		costly = fair.New(fair.Config{
			Slots: slots, PerOwner: each, Queue: 2 * slots, TenantQueue: 2, OwnerQueue: 2,
		}, prometheus.NewRegistry())
		defer func() { costly = before }()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		at := make(chan *Turn, 8)
		begin := func(organization string) {
			go func() {
				turn := NewTurn(ctx, organization)
				for range 2 { // it waits once
					if turn.Err() != nil {
						turn.Release()
						return
					}
				}
				at <- &turn
			}()
			synctest.Wait()
		}
		for range each + 1 {
			begin("org_1")
		}
		if len(at) != each {
			t.Errorf("%d of one organization evaluate, want %d", len(at), each)
		}
		(<-at).Release()
		synctest.Wait()
		if len(at) != each {
			t.Error("nobody has the turn of one who is done")
		}
		cancel()
		turn := NewTurn(ctx, "org_2")
		if err := turn.Err(); !errors.Is(err, context.Canceled) || turn.claim != nil {
			t.Errorf("Err() = %v, with a turn: %t", err, turn.claim != nil)
		}
	})
}

func TestTurn_CostsNothingBeforeTheFirstCheck(t *testing.T) {
	t.Parallel()
	turn := NewTurn(t.Context(), "org_1")
	turn.Release()
	if turn.claim != nil {
		t.Error("it has a turn")
	}
}
