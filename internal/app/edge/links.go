package edge

import (
	"net"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/linkhost"
	"github.com/millrace/millrace/internal/app/daemon/hosting"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/resource/link/linkcache"
	"github.com/millrace/millrace/internal/resource/link/redirect"
	"github.com/millrace/millrace/internal/tenant/org"
)

// sharedHost is the name of the host that all organizations share; empty where it has none
// that other machines know.
func sharedHost(publicURL string) string {
	host := link.HostOf(publicURL)
	if config.IsLoopback(net.JoinHostPort(host, "0")) {
		return ""
	}
	return host
}

// newLinks is the host of short links.
func newLinks(g *ground) (*host, error) {
	s, t := g.s, g.t
	clicks, publishing, err := NewClicks(s, t, g.salts, s.Link.MaxBufferedBytes)
	if err != nil {
		return nil, err
	}
	links := linkcache.New(linkcache.Config{Entries: s.Link.CacheEntries},
		linkcache.Deps{Store: g.db, Log: t.Log, Metrics: t.Registry})
	redirects := redirect.New(redirect.Config{SharedHost: sharedHost(s.Link.PublicURL)}, redirect.Deps{
		Links: links, Directory: links, Uses: g.db, Visitors: g.enrich, Passwords: org.NewPasswords(), Clicks: clicks,
		Metrics: t.Registry,
	})
	t.Handle("GET /domains/allowed", allowed(redirects))
	app := linkhost.New(
		linkhost.Config{
			MaxInFlight: s.Link.MaxInFlight, Conns: g.conns(), AccessLog: s.Log.Access, Proxies: hosting.Proxies(s),
			Site: httpkit.Site{PublicURL: s.Link.BaseURL()},
		},
		linkhost.Deps{Log: t.Log, Metrics: t.Registry, Tracer: t.Tracer, Redirects: redirects},
	)
	g.r.AddCheck("edge: short links", links.Ready)
	return &host{
		cache:    links,
		before:   append(publishing, lifecycle.Component{Name: "short links", Run: links.Run}),
		listener: httpkit.ListenComponent("short-link listener", s.Link.Listen, "MILLRACE_LINK_LISTEN", app, t.Log),
		close:    func() {},
	}, nil
}
