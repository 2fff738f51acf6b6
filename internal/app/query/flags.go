package query

import (
	"context"
	"net/netip"
	"time"

	"github.com/millrace/millrace/internal/api/flagapi"
	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/enrich"
	"github.com/millrace/millrace/internal/flagset"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/ratelimit"
	"github.com/millrace/millrace/internal/telemetry"
)

// geoInterval is how often the operator's geo files are looked at.
const geoInterval = 10 * time.Second

// recognizing finds keys and websites for the public routes of feature flags.
type recognizing interface {
	flagapi.Keys
	flagapi.Websites
}

// publicFlags returns what the public routes of feature flags need around the flags that are
// held, and the part that looks after the geo files.
func publicFlags(
	s config.Settings, t *telemetry.Telemetry, access recognizing, held *flagset.Memory, limiter *ratelimit.Limiter,
) (*flagapi.Deps, lifecycle.Part, error) {
	geo, err := enrich.NewGeo(s.Enrich.GeoFile, t.Log, t.Registry)
	if err != nil {
		return nil, lifecycle.Part{}, err
	}
	deps := &flagapi.Deps{
		Log: t.Log, Metrics: t.Registry, Sets: held, Websites: access, Keys: access, Limits: limiter,
		Watch:   func(organizationID string) flagapi.Watch { return held.Watch(organizationID) },
		Country: func(addr netip.Addr) string { return geo.Of(addr).Country },
	}
	deps.PublicURL = s.Query.PublicURL // clients find where they ask by themselves
	run := func(ctx context.Context) error { return geo.Run(ctx, geoInterval) }
	return deps, lifecycle.Part{Name: "geo files", Run: run}, nil
}
