package query

import (
	"context"
	"net/netip"
	"time"

	"github.com/millrace/millrace/internal/api/flagapi"
	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/enrich"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/ratelimit"
	"github.com/millrace/millrace/internal/telemetry"
)

// geoInterval is how often the operator's geo files are looked at.
const geoInterval = 10 * time.Second

// publicFlags returns what the public routes of feature flags need besides Sets and Websites,
// and the part that looks after the geo files.
func publicFlags(
	s config.Settings, t *telemetry.Telemetry, keys flagapi.Keys, limiter *ratelimit.Limiter,
) (*flagapi.Deps, lifecycle.Part, error) {
	geo, err := enrich.NewGeo(s.Enrich.GeoFile, t.Log, t.Registry)
	if err != nil {
		return nil, lifecycle.Part{}, err
	}
	deps := &flagapi.Deps{
		Log: t.Log, Metrics: t.Registry, Keys: keys, Limits: limiter,
		Country: func(addr netip.Addr) string { return geo.Of(addr).Country },
	}
	run := func(ctx context.Context) error { return geo.Run(ctx, geoInterval) }
	return deps, lifecycle.Part{Name: "geo files", Run: run}, nil
}

// served are the dependencies once there is somebody to ask for sets; else nil, without which
// there are no public routes.
func served(deps *flagapi.Deps) *flagapi.Deps {
	if deps.Sets == nil || deps.Websites == nil {
		return nil
	}
	return deps
}
