package quota

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/readcache"
)

// Biller is an external service that says who may send events.
type Biller interface {
	// Allowed reports whether an organization may send events now. It honours its
	// context; an error means that the service has not said.
	Allowed(ctx context.Context, organizationID string) (bool, error)
}

// Times of external decisions.
const (
	// decisionFresh is the age at which the service is asked again, so that its
	// word is felt in these seconds.
	decisionFresh = 5 * time.Second
	// DecisionValid is how long the last decision stands while the service does not
	// answer.
	DecisionValid = 5 * time.Minute
	// billingLoads is how many organizations of which nothing is known are asked
	// for at the same time.
	billingLoads = 64
)

// External rejects the events of organizations by the word of a Biller, which is
// asked behind a breaker, once for all requests of an organization that wait at
// the same time. It is safe for concurrent use.
type External struct {
	decisions *readcache.Cache[string, bool]
}

// NewExternal returns an External that waits for the Biller for timeout at most.
// reg may be nil. Close ends it.
func NewExternal(biller Biller, timeout time.Duration, reg prometheus.Registerer) *External {
	return &External{decisions: readcache.New(readcache.Config{
		Name: "billing", Fresh: decisionFresh, Trusted: decisionFresh, Stale: DecisionValid,
		// A read that does not end in time is waited for a tenth longer.
		LoadTimeout: timeout * 10 / 11, MaxLoads: billingLoads,
	}, biller.Allowed, func(error) bool { return false }, reg)}
}

// Close ends the cache. Check must not be called after it.
func (e *External) Close() { e.decisions.Close() }

// Check returns a QuotaExceeded error when the service has rejected the
// organization, and a BillingUnavailable error when it has said nothing for
// longer than DecisionValid.
func (e *External) Check(ctx context.Context, organizationID string, now time.Time) error {
	allowed, err := e.decisions.Get(ctx, organizationID, now)
	switch {
	case err != nil:
		return apierr.Wrap(apierr.BillingUnavailable,
			fmt.Errorf("checking whether %s may send events: %w", organizationID, err))
	case !allowed:
		return apierr.New(apierr.QuotaExceeded)
	}
	return nil
}
