package flag

import (
	"context"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/platform/fair"
)

// costly gives turns to evaluations that cost much, so that they leave half of the processors to all
// other requests, and one organization's do not delay those of another.
var costly = fair.New(fair.Config{
	Slots: max(1, runtime.GOMAXPROCS(0)/2), PerOwner: max(1, runtime.GOMAXPROCS(0)/4),
	Queue: 256, TenantQueue: 64, OwnerQueue: 64,
}, prometheus.NewRegistry()) // its metrics are those of queries

// Turn is the context of a request that evaluates flags. From the first check of the evaluator on, which
// most requests never reach, the request waits for its turn. It is for one goroutine.
type Turn struct {
	context.Context //nolint:containedctx // it is one

	organization string
	claim        *fair.Claim // nil before the first check
	err          error
}

// NewTurn returns the context of a request about flags of an organization. Release ends it.
func NewTurn(ctx context.Context, organizationID string) Turn {
	return Turn{Context: ctx, organization: organizationID}
}

// Err implements context.Context. Without an error, it is the request's turn.
func (t *Turn) Err() error {
	if t.err == nil {
		t.err = t.Context.Err()
	}
	if t.err != nil || t.claim != nil {
		return t.err
	}
	claims, err := costly.Admit(fair.Owner{Tenant: t.organization, Name: t.organization}, 1)
	if err != nil {
		t.err = err
		return err
	}
	t.claim = claims[0]
	if t.err = t.claim.Acquire(t.Context); t.err == nil {
		t.err = t.Context.Err() // meanwhile
	}
	return t.err
}

// Release ends the request's turn.
func (t *Turn) Release() {
	if t.claim != nil {
		t.claim.Release()
		t.claim = nil
	}
}
