// Package redirect decides what becomes of a request for a short link.
//
// It promises one order of questions, that of steps: is there such a link, is it open, may
// the visitor pass, is a preview asked for, where does it lead, may it be used once more.
// It promises that a visitor gets nowhere but to an address of the link: what they put
// into the query changes neither scheme nor host, path or fragment of it. And it promises
// that maxClicks counts people only, and as exactly as the store does.
//
// It knows nothing of HTTP's forms: a surface reads requests and writes answers. It keeps
// neither addresses nor user agents, but for a minute those that it counts, as hashes.
// What it counts is the process's own: behind a balancer each edge allows as much.
package redirect

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/click"
	"github.com/millrace/millrace/internal/enrich"
	"github.com/millrace/millrace/internal/link"
)

// Links finds links by slug, whatever its case.
type Links interface {
	// Find fills to. It returns link.ErrNotFound for a slug that no link has, and a
	// ServiceUnavailable fault when that cannot be found out now.
	Find(ctx context.Context, slug string, to *link.Served) error
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

// Passwords verifies passwords against their hashes, which takes a while.
type Passwords interface {
	Verify(ctx context.Context, hash, password string) (bool, error)
}

// Deps are what a Host works with; all but Clicks, Metrics and Now are required.
type Deps struct {
	Links     Links
	Uses      Uses
	Visitors  Visitors
	Passwords Passwords
	Clicks    Clicks                // nil: nobody takes note
	Metrics   prometheus.Registerer // nil for none
	Now       func() time.Time      // nil means time.Now
}

// Host decides about requests. It is safe for concurrent use.
type Host struct {
	deps      Deps
	unknown   *tries // by address, slugs that lead nowhere
	passwords *tries // by link and address
	spent     spent
	metrics   *metrics
	visits    sync.Pool // of *Visit
}

// New returns a Host. It starts nothing.
func New(deps Deps) *Host {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	h := &Host{deps: deps, metrics: newMetrics(deps.Metrics)}
	h.unknown, h.passwords = newTries(MaxUnknown, deps.Now()), newTries(MaxPasswords, deps.Now())
	h.visits.New = func() any { return newVisit() }
	return h
}
