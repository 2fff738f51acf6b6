package query

import (
	"context"
	"net/netip"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/api/flagapi"
	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// geoInterval is how often the operator's geo files are looked at.
const geoInterval = 10 * time.Second

// flags is what serves feature flags: the sets that are held, what the public routes need, and
// who takes note of what was served.
type flags struct {
	memory     *flagset.Memory
	served     flagapi.Deps
	components []lifecycle.Component
}

func newFlags(
	s config.Settings, t *telemetry.Telemetry, db *store.Store, access *auth.Authenticator, limiter *ratelimit.Limiter,
) (*flags, error) {
	geo, err := enrich.NewGeo(s.Enrich.GeoFile, t.Log, t.Registry)
	if err != nil {
		return nil, err
	}
	memory := flagset.NewMemory(
		flagset.Config{Bytes: int64(s.Flags.Memory), Stale: s.Flags.Stale},
		flagset.Deps{Store: db, Log: t.Log, Metrics: t.Registry},
	)
	f := &flags{memory: memory, served: flagapi.Deps{
		Log: t.Log, Metrics: t.Registry, Sets: memory, Websites: access, Keys: access, Limits: limiter,
		Country:    func(addr netip.Addr) string { return geo.Of(addr).Country },
		Watch:      func(organizationID string) flagapi.Watch { return memory.Watch(organizationID) },
		MaxStreams: s.Flags.MaxStreams,
		PublicURL:  s.Query.PublicURL, // without one, clients find where they ask by themselves
	}}
	var exposures []lifecycle.Component
	if f.served.Exposures, exposures, err = newExposures(s, t, db); err != nil {
		return nil, err
	}
	f.components = append([]lifecycle.Component{
		{Name: "feature flags", Run: memory.Run},
		{Name: "geo files", Run: func(ctx context.Context) error { return geo.Run(ctx, geoInterval) }},
	}, exposures...)
	return f, nil
}
