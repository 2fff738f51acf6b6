package rpc

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/platform/fair"
)

// Places for lists. A page of 100 records with all that they may hold is 25 MB, and three times as much
// while it is made: how many are made at the same time is bounded before their memory is known.
const (
	listsAtOnce         = 4 // in the process
	listsOfOrganization = 2
	// waitingLists is how many wait for a place, those of one organization half as many.
	waitingLists = 512
)

// turns gives organizations places for lists in turn.
type turns struct{ places *fair.Scheduler }

func newTurns() turns {
	return turns{fair.New(fair.Config{
		Slots: listsAtOnce, PerOwner: listsOfOrganization,
		Queue: waitingLists, TenantQueue: waitingLists / 2, OwnerQueue: waitingLists / 2,
	}, prometheus.NewRegistry())} // its metrics are those of queries
}

// enter waits for a place until the context ends. The caller leaves it once the page is made. The error
// is a ServiceUnavailable or DeadlineExceeded error.
func (t *turns) enter(ctx context.Context, organization string) (leave func(), err error) {
	claims, err := t.places.Admit(fair.Owner{Tenant: organization, Name: organization}, 1)
	if err != nil {
		return nil, &apierr.Error{
			Code: apierr.ServiceUnavailable, RetryAfter: admission.RetryAfter(), Err: errors.Join(admission.ErrRejected, err),
		}
	}
	if err := claims[0].Acquire(ctx); err != nil {
		claims[0].Release()
		return nil, apierr.Wrap(apierr.DeadlineExceeded, err)
	}
	return claims[0].Release, nil
}
