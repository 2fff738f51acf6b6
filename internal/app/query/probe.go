package query

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/pipeline/probe"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/quota"
	"github.com/millrace/millrace/internal/tenant/website"
)

// What the probe's things are called; the domain is one that cannot be anybody's.
const (
	probeName    = "Probe"
	probeDomain  = "probe.millrace.invalid"
	probeWebsite = "web_0000000000000000000000PRBE"
)

// prober probes while it runs, unless the settings turn it off.
func prober(s config.Settings, t *telemetry.Telemetry, db *store.Store) lifecycle.Component {
	component := lifecycle.Component{Name: "probe"}
	if s.Probe.Interval == 0 {
		return component
	}
	component.Run = probe.New(
		probe.Config{
			Interval:  s.Probe.Interval,
			IngestURL: cmp.Or(s.Probe.IngestURL, s.Ingest.BaseURL()), QueryURL: cmp.Or(s.Probe.QueryURL, s.Query.BaseURL()),
		},
		probe.Deps{
			Leases: db, Log: t.Log, Metrics: t.Registry,
			Account: func(ctx context.Context) (probe.Account, error) { return probeAccount(ctx, s.Key.Prefix, db) },
		},
	).Run
	return component
}

// probeAccount makes the reserved organization and its website where they are not,
// and a new secret of their key: only who probes ever has it.
func probeAccount(ctx context.Context, prefix string, db *store.Store) (a probe.Account, err error) {
	a.WebsiteID = probeWebsite
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Store) error {
		if err := reserve(ctx, tx, time.Now().UTC().Truncate(time.Millisecond)); err != nil {
			return err
		}
		a.Key, err = probeKey(ctx,
			apikey.NewService(apikey.Config{Prefix: prefix, Scopes: auth.AllScopes().Strings()}, tx, nil))
		return err
	})
	return a, err
}

// reserve makes the organization, without a quota, and the website, once.
func reserve(ctx context.Context, tx *store.Store, now time.Time) error {
	if _, err := tx.OrganizationByID(ctx, org.ReservedID); !errors.Is(err, org.ErrNotFound) {
		return err
	}
	o, err := org.New(probeName, now)
	if err != nil {
		return err
	}
	w, err := website.New(org.ReservedID, probeName, probeDomain, now)
	if err != nil {
		return err
	}
	o.ID, w.ID, w.ClientID = org.ReservedID, probeWebsite, probeWebsite
	if err := tx.CreateOrganization(ctx, audit.BySystem(), o); err != nil {
		return err
	}
	if _, err := tx.SetQuota(ctx, audit.BySystem(), o.ID, quota.Unlimited, now); err != nil {
		return err
	}
	return tx.CreateWebsite(ctx, audit.BySystem(), w)
}

// probeKey returns a new secret of the only key there is.
func probeKey(ctx context.Context, keys *apikey.Service) (secret string, err error) {
	there, err := keys.List(ctx,
		apikey.Filter{OrganizationID: org.ReservedID, Status: apikey.Active, Now: time.Now().UTC(), Limit: 1})
	if err != nil {
		return "", err
	}
	if len(there) > 0 {
		_, secret, err = keys.Rotate(ctx, audit.BySystem(),
			managed.Target{OrganizationID: org.ReservedID, Ref: there[0].ID}, 0)
		return secret, err
	}
	_, secret, err = keys.Create(ctx, audit.BySystem(), apikey.Spec{
		OrganizationID: org.ReservedID, WebsiteID: probeWebsite, Name: probeName,
		Scopes: []string{string(auth.ScopeTrackEvents), string(auth.ScopeReadData)},
	})
	return secret, err
}
