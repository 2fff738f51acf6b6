// Package redirect decides what becomes of a request for a short link.
//
// It promises one order of questions, that of steps: whose host is it, is there such a link,
// is it open, may the visitor pass, is a preview asked for, where does it lead, may it be
// used once more. A link that is blocked is none. While domains and blocks are not known,
// nothing is.
// It promises that a visitor gets nowhere but to an address of the link or its domain: what
// they put into the query changes neither scheme nor host, path or fragment of it. And it
// promises that maxClicks counts people only, and as exactly as the store does.
//
// It knows nothing of HTTP's forms: a surface reads requests and writes answers. It keeps
// neither addresses nor user agents. It keeps hashes of the addresses that it counts for a
// minute, and of those that sent a link's right password for a week.
// What it counts is the process's own: behind a balancer each edge allows as much.
package redirect

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/platform/fair"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/resource/link/click"
	"github.com/millrace/millrace/internal/tenant/attempt"
)

// Links finds links by key, as link.KeyOn says it.
type Links interface {
	// Find fills to, and does not keep the key; now is the caller's reading of the clock. It
	// returns link.ErrNotFound for one that no link has, and a ServiceUnavailable error when
	// that cannot be found out now.
	Find(ctx context.Context, key []byte, now time.Time, to *link.Served) error
}

// Directory knows the domains of organizations' own, and what is blocked.
type Directory interface {
	// Directory returns what is known; nil where that is nothing now.
	Directory() *link.Index
}

// Uses counts how often links with a bound were used, over all edges.
type Uses interface {
	// UseLink takes one of so many uses; false where none is left.
	UseLink(ctx context.Context, id string, most int64) (bool, error)
	// LinkByID returns a link as it is stored, with its uses.
	LinkByID(ctx context.Context, id string) (*link.Link, error)
}

// Clicks takes note of redirects. It neither waits nor keeps what it is given.
type Clicks interface{ Take(c *click.Click) }

// Visitors tells what an address and a user agent say.
type Visitors interface {
	Visitor(addr netip.Addr, userAgent []byte) enrich.Visitor
}

// Passwords verifies passwords against their hashes, which takes a while; share is whose
// turn it takes.
type Passwords interface {
	Verify(ctx context.Context, share fair.Owner, hash, password string) (bool, error)
}

// Config holds the settings of a Host.
type Config struct {
	// SharedHost is the name of the host that all organizations share, as link.HostOf says
	// it. Empty: each host that is no domain is that one.
	SharedHost string
}

// Deps are what a Host works with; all but Directory, Clicks, Metrics and Now are required.
type Deps struct {
	Links     Links
	Directory Directory // nil: there are neither domains nor blocks
	Uses      Uses
	Visitors  Visitors
	Passwords Passwords
	Clicks    Clicks                // nil: nobody takes note
	Metrics   prometheus.Registerer // nil for none
	Now       func() time.Time      // nil means time.Now
}

// Host decides about requests. It is safe for concurrent use.
type Host struct {
	shared    string
	deps      Deps
	unknown   *tries          // by address, slugs that lead nowhere
	passwords *tries          // by link and address
	guesses   *tries          // by link: passwords from addresses that are not recent
	recent    *attempt.Recent // link and network of right passwords
	spent     spent
	metrics   *metrics
	visits    sync.Pool // of *Visit
}

// New returns a Host. It starts nothing.
func New(cfg Config, deps Deps) *Host {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	h := &Host{shared: cfg.SharedHost, deps: deps, metrics: newMetrics(deps.Metrics)}
	h.unknown, h.passwords = newTries(MaxUnknown, deps.Now()), newTries(MaxPasswords, deps.Now())
	h.guesses, h.recent = newTries(MaxLinkPasswords, deps.Now()), attempt.NewRecent(recentFor)
	h.visits.New = func() any { return newVisit() }
	return h
}
