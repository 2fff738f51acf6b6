package edge

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/adapter/billing"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/pipeline/ingest"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/platform/credential"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/quota"
)

// allowance says who may send no more events.
type allowance struct {
	ingest.Quota

	states []*control.States // that it goes by
	close  func()
}

// newAllowance asks the billing service where there is one, and goes by what was
// counted otherwise.
func newAllowance(s config.Settings, t *telemetry.Telemetry, db *store.Store) (allowance, error) {
	if s.Billing.URL == "" {
		states := control.NewStates(control.Quota, db.QuotaStates)
		return allowance{Quota: quota.NewEnforcer(states), states: []*control.States{states}, close: func() {}}, nil
	}
	token, err := credential.Secret("billing.token", s.Billing.Token, s.Billing.TokenFile)
	if err != nil {
		return allowance{}, err
	}
	client := billing.New(billing.Config{URL: s.Billing.URL, Token: token, Timeout: s.Billing.Timeout})
	external := quota.NewExternal(client, s.Billing.Timeout, t.Registry)
	return allowance{Quota: billed{external}, close: func() {
		external.Close()
		client.Close()
	}}, nil
}

// billed asks nobody about the reserved organization, which no billing service
// knows.
type billed struct{ ingest.Quota }

// Check implements ingest.Quota.
func (b billed) Check(ctx context.Context, organizationID string, now time.Time) error {
	if organizationID == org.ReservedID {
		return nil
	}
	return b.Quota.Check(ctx, organizationID, now)
}
