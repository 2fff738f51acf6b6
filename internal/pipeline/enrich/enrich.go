package enrich

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/tenant/website"
)

// Config holds what an operator may change.
type Config struct {
	// GeoFiles are MaxMind-format files of places, asked in this order before the
	// countries that are built in.
	GeoFiles []string
	// GeoInterval is how often they are looked at; 0 means 10 seconds.
	GeoInterval time.Duration
	// AgentBytes is about how much memory remembered user agents take; 0 means
	// 16 MiB.
	AgentBytes int
}

// Deps are what an Enricher needs.
type Deps struct {
	Log     *slog.Logger          // required
	Metrics prometheus.Registerer // nil for none
}

// Enricher finds out about visitors and pages. It is safe for concurrent use.
type Enricher struct {
	cfg    Config
	agents *Agents
	geo    *Geo
	rules  *table[ruleKey, *Rules]
}

// ruleKey is a version of a website.
type ruleKey struct {
	website string
	version int64
}

// rememberedRules is how many websites' rules are remembered.
const rememberedRules = 8 << 10

var errNoLog = errors.New("enrich: Deps.Log is nil")

// New returns an Enricher, or an error when a geo file cannot be read. Close it
// after use.
func New(cfg Config, deps Deps) (*Enricher, error) {
	if deps.Log == nil {
		return nil, errNoLog
	}
	if cfg.GeoInterval <= 0 {
		cfg.GeoInterval = 10 * time.Second
	}
	if cfg.AgentBytes <= 0 {
		cfg.AgentBytes = 16 << 20
	}
	geo, err := NewGeo(cfg.GeoFiles, deps.Log, deps.Metrics)
	if err != nil {
		return nil, fmt.Errorf("enrich: %w", err)
	}
	return &Enricher{
		cfg: cfg, agents: NewAgents(cfg.AgentBytes), geo: geo, rules: newTable[ruleKey, *Rules](rememberedRules),
	}, nil
}

// Run looks after the geo files until ctx ends.
func (e *Enricher) Run(ctx context.Context) error { return e.geo.Run(ctx, e.cfg.GeoInterval) }

// Close releases what New took. Nothing may be asked after it.
func (e *Enricher) Close() { e.agents.Close() }

// Visitor is what a browser's request tells of who sent it. It may be kept.
type Visitor struct {
	Agent *Agent // never nil
	Place Place
}

// Visitor returns what is known of an address and a user agent, of which it keeps
// neither in what it returns.
func (e *Enricher) Visitor(addr netip.Addr, userAgent []byte) Visitor {
	return Visitor{Agent: e.agents.Of(userAgent), Place: e.geo.Of(addr)}
}

// Rules returns a website's rules about paths; nil when it has none.
func (e *Enricher) Rules(w *website.Website) *Rules {
	if w == nil || len(w.ExcludedPaths)+len(w.MaskPatterns)+len(w.TrackQueryParams) == 0 {
		return nil
	}
	key := ruleKey{w.ID, w.Version}
	if r, ok := e.rules.get(key); ok {
		return r
	}
	r := Compile(w.ExcludedPaths, w.MaskPatterns, w.TrackQueryParams)
	e.rules.put(key, r)
	return r
}
