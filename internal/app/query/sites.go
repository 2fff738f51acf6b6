package query

import (
	"context"

	"github.com/millrace/millrace/internal/adapter/clickhouse/deletion"
	"github.com/millrace/millrace/internal/adapter/domaincheck"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/api/management"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/privacy/erasure"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

// withSites adds what the operations on websites, API keys, short links and feature flags need.
func withSites(deps management.Deps, s config.Settings, db *store.Store, passwords *org.Passwords) management.Deps {
	websites := website.NewService(db, nil)
	keys := apikey.NewService(apikey.Config{
		Prefix: s.Key.Prefix, Scopes: auth.AllScopes().Strings(),
		Rate: apikey.RateLimit{Limit: s.Limits.Key, Window: s.Limits.Window},
	}, db, nil)
	deps.Websites = management.Websites{
		Service: websites, Organizations: deps.Organizations.Service, IngestURL: s.Ingest.BaseURL(),
	}
	deps.Organizations.Websites = websites
	deps.Profiles = management.Profiles{Service: erasure.NewService(db, nil), Websites: websites}
	deps.APIKeys = management.APIKeys{Service: keys, Websites: websites}
	deps.Links = management.Links{Service: link.NewService(
		link.Rules{Schemes: s.Link.Schemes, PublicURL: s.Link.BaseURL(), OwnHosts: ownHosts(s), MaxLinks: s.Link.MaxLinks},
		link.Deps{Store: db, Folders: db, Domains: db, Passwords: passwords, DNS: domainChecker(s), Attempts: db},
	)}
	deps.Flags = management.Flags{
		Service: flag.NewService(flag.Limits(), flag.Deps{Store: db, Versions: db, Segments: db}), Websites: websites,
	}
	return deps
}

// ownHosts are the names of our hosts but that of short links.
func ownHosts(s config.Settings) []string {
	return []string{link.HostOf(s.Query.BaseURL()), link.HostOf(s.Ingest.BaseURL())}
}

func domainChecker(s config.Settings) *domaincheck.Checker {
	return domaincheck.New(domaincheck.Config{Resolver: s.Domains.Resolver, SharedHost: link.HostOf(s.Link.BaseURL())})
}

// linkDomains looks daily whether the domains of short links are still proved, while it runs.
func linkDomains(s config.Settings, t *telemetry.Telemetry, db *store.Store) lifecycle.Component {
	watch := link.NewWatch(link.WatchDeps{Store: db, DNS: domainChecker(s), Log: t.Log, Metrics: t.Registry})
	return lifecycle.Component{Name: "link domains", Run: watch.Run}
}

// linkPurge removes deleted links that nobody can restore any more, and their clicks, while
// it runs.
func linkPurge(s config.Settings, t *telemetry.Telemetry, db *store.Store) lifecycle.Component {
	eraser := deletion.NewEraser(s.ClickHouse)
	purger := link.NewPurger(link.PurgeDeps{Store: db, Clicks: eraser, Log: t.Log, Metrics: t.Registry})
	return lifecycle.Component{
		Name: "link purge", Run: purger.Run, Stop: func(context.Context) error { return eraser.Close() },
	}
}
