package edge

import (
	"github.com/millrace/millrace/internal/billing"
	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/control"
	"github.com/millrace/millrace/internal/ingest"
	"github.com/millrace/millrace/internal/quota"
	"github.com/millrace/millrace/internal/store"
	"github.com/millrace/millrace/internal/telemetry"
)

// allowance says who may send no more events.
type allowance struct {
	ingest.Quota

	states []*control.States // that it goes by
	close  func()
}

// newAllowance asks the billing service where there is one, and goes by what was
// counted otherwise.
func newAllowance(s config.Settings, t *telemetry.Telemetry, db *store.Store) allowance {
	if s.Billing.URL == "" {
		states := control.NewStates(control.Quota, db.QuotaStates)
		return allowance{Quota: quota.NewGate(states), states: []*control.States{states}, close: func() {}}
	}
	client := billing.New(billing.Config{URL: s.Billing.URL, Token: s.Billing.Token.Reveal(), Timeout: s.Billing.Timeout})
	external := quota.NewExternal(client, s.Billing.Timeout, t.Registry)
	return allowance{Quota: external, close: func() {
		external.Close()
		client.Close()
	}}
}
