package auth

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/readcache"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/website"
)

// retryAfter is what callers are told to wait while the metadata store is down
// (specification 7.2).
const retryAfter = 5 * time.Second

// KeyStore reads API keys. A hash that no key has, nor had within the grace of a
// rotation, is apikey.ErrNotFound.
type KeyStore interface {
	KeyByHash(ctx context.Context, hash [apikey.HashLen]byte) (*apikey.Key, error)
}

// WebsiteStore reads websites. What does not exist is website.ErrNotFound.
type WebsiteStore interface {
	WebsiteByID(ctx context.Context, id string) (*website.Website, error)
	WebsiteByClientID(ctx context.Context, clientID string) (*website.Website, error)
}

// MoveStore reads which websites left an organization or came to it.
type MoveStore interface {
	WebsiteMoves(ctx context.Context, organizationID string) (*website.Moves, error)
}

// Config holds what an operator may set.
type Config struct {
	KeyPrefix string        // of API keys, without the underscore
	Fresh     time.Duration // age at which a cached key or website is read again; 0 means 5 s
	Trusted   time.Duration // the same while changes are told of by Apply; 0 means 30 s
	Stale     time.Duration // age up to which it is served while the store is down; 0 means 10 min
	// FlagStale is the same of websites whose flags are asked for; 0 where nobody does.
	FlagStale time.Duration
	// Remembered is how many keys, and how many websites, are kept; 0 means 100,000.
	Remembered int64
}

// Deps are the parts an Authenticator needs.
type Deps struct {
	Keys     KeyStore
	Websites WebsiteStore
	// Moves reads which websites were moved; nil where nobody asks.
	Moves MoveStore
	// Uses is told of the keys in use, once a minute each; nil for nobody.
	Uses interface {
		Touch(keyID string, now time.Time)
	}
	Metrics prometheus.Registerer // nil for none
}

// Authenticator recognises keys and websites. It is safe for concurrent use.
type Authenticator struct {
	prefix string
	uses   interface {
		Touch(keyID string, now time.Time)
	}
	keys    *readcache.Cache[[apikey.HashLen]byte, *credential]
	clients *readcache.Cache[string, *website.Website] // by client id
	refs    *readcache.Cache[string, *website.Website] // by id, else client id
	flags   *readcache.Cache[string, *website.Website] // by id, else client id; nil where nobody asks
	moves   *readcache.Cache[string, *website.Moves]   // by organization; nil where nobody asks
}

// credential is a key with what it stands for worked out.
type credential struct {
	key       *apikey.Key
	principal Principal
	used      atomic.Int64 // the Unix minute of the last use that was noted
}

// New returns an Authenticator that reads from the stores through caches.
func New(cfg Config, deps Deps) *Authenticator {
	a := &Authenticator{prefix: cfg.KeyPrefix, uses: deps.Uses}
	named := func(name string) readcache.Config {
		return readcache.Config{
			Name: name, Fresh: cfg.Fresh, Trusted: cfg.Trusted, Stale: cfg.Stale, MaxEntries: cfg.Remembered,
		}
	}
	a.keys = readcache.New(named("keys"), loadKey(deps.Keys), noKey, deps.Metrics)
	a.clients = readcache.New(named("clients"), deps.Websites.WebsiteByClientID, noWebsite, deps.Metrics)
	a.refs = readcache.New(named("websites"), loadRef(deps.Websites), noWebsite, deps.Metrics)
	if cfg.FlagStale > 0 {
		flags := named("flag_websites")
		flags.Stale = cfg.FlagStale
		a.flags = readcache.New(flags, loadRef(deps.Websites), noWebsite, deps.Metrics)
	}
	if deps.Moves != nil {
		a.moves = readcache.New(named("moves"), deps.Moves.WebsiteMoves, noWebsite, deps.Metrics)
	}
	return a
}

// Close ends the goroutines of the caches.
func (a *Authenticator) Close() {
	a.keys.Close()
	for _, sites := range a.sites() {
		sites.Close()
	}
	if a.moves != nil {
		a.moves.Close()
	}
}

// sites are the caches of websites.
func (a *Authenticator) sites() []*readcache.Cache[string, *website.Website] {
	all := []*readcache.Cache[string, *website.Website]{a.clients, a.refs}
	if a.flags != nil {
		all = append(all, a.flags)
	}
	return all
}

func noKey(err error) bool     { return errors.Is(err, apikey.ErrNotFound) }
func noWebsite(err error) bool { return errors.Is(err, website.ErrNotFound) }

func loadKey(keys KeyStore) func(context.Context, [apikey.HashLen]byte) (*credential, error) {
	return func(ctx context.Context, hash [apikey.HashLen]byte) (*credential, error) {
		k, err := keys.KeyByHash(ctx, hash)
		if err != nil {
			return nil, err
		}
		return &credential{key: k, principal: Principal{
			Kind: KindKey, OrganizationID: k.OrganizationID, KeyID: k.ID, Key: k, Name: k.Name,
			Scopes: knownScopes(k.Scopes), WebsiteID: k.WebsiteID,
		}}, nil
	}
}

func loadRef(websites WebsiteStore) func(context.Context, string) (*website.Website, error) {
	return func(ctx context.Context, ref string) (*website.Website, error) {
		w, err := websites.WebsiteByID(ctx, ref)
		if noWebsite(err) {
			return websites.WebsiteByClientID(ctx, ref)
		}
		return w, err
	}
}

// Key returns whom an API key stands for that came from an address. A key that is malformed, unknown,
// expired, revoked, rotated away or without an organization is an AuthRequired
// error, and nothing tells these apart; a malformed one costs no lookup. A key
// that may not be used from the address is an IPNotAuthorized error. Both are counted
// against the address: when it has used up what callers without a credential have, they
// are a RateLimited error, and a key that is not remembered is not looked up. When
// the store cannot be asked and the key is not known from before, it is a
// ServiceUnavailable error.
func (a *Authenticator) Key(ctx context.Context, secret []byte, from From) (Principal, error) {
	c, err := a.credential(ctx, secret, from)
	switch {
	case err == nil:
		return c.principal, nil
	case apierr.Is(err, apierr.AuthRequired), apierr.Is(err, apierr.IPNotAuthorized):
		return Principal{}, from.Failed(ctx, err)
	default:
		return Principal{}, err
	}
}

// credential returns a key that is good where it came from.
func (a *Authenticator) credential(ctx context.Context, secret []byte, from From) (*credential, error) {
	if !apikey.WellFormed(a.prefix, secret) {
		return nil, apierr.New(apierr.AuthRequired)
	}
	hash, now := apikey.HashOf(secret), time.Now()
	c, known, err := a.keys.Recall(ctx, hash, now)
	if !known {
		// A key that was good is asked for again whoever stands behind the address.
		if _, before := a.keys.Peek(hash); !before {
			if err := from.MayAsk(); err != nil {
				return nil, err
			}
		}
		c, err = a.keys.Get(ctx, hash, now)
	}
	if noKey(err) {
		return nil, apierr.New(apierr.AuthRequired)
	}
	if err != nil {
		return nil, unavailable(err)
	}
	// The response may be older than the instant at which the key or its old secret
	// ended, so the dates are looked at here and not when it was read. They are
	// held against the moment of the call: reading the clock is dear.
	if !c.key.Accepts(hash, now) || c.key.OrganizationID == "" {
		return nil, apierr.New(apierr.AuthRequired)
	}
	if !c.key.AllowsAddr(from.Addr) {
		return nil, apierr.Wrap(apierr.IPNotAuthorized, fmt.Errorf("key %s does not allow this IP address", c.key.ID))
	}
	a.touch(c, now)
	return c, nil
}

// touch notes the use of a key, once a minute.
func (a *Authenticator) touch(c *credential, now time.Time) {
	if minute := now.Unix() / 60; a.uses != nil && c.used.Load() != minute && c.used.Swap(minute) != minute {
		a.uses.Touch(c.key.ID, now)
	}
}

// ClientWebsite returns the website that bears a client id, for callers without
// a credential. An unknown one is website.ErrNotFound, and a store that cannot
// be asked a ServiceUnavailable error. The website is shared: it must not be
// changed. clientID may alias memory that is reused after the call.
func (a *Authenticator) ClientWebsite(ctx context.Context, clientID string) (*website.Website, error) {
	now := time.Now()
	w, err := find(ctx, a.clients, clientID, now)
	if err == nil && !w.AcceptsClientID(clientID, now) {
		return nil, website.ErrNotFound
	}
	return w, err
}

// Website returns the website with an id or client id, for callers with a
// credential; errors are those of ClientWebsite. Whether the caller may touch it
// is for AuthorizeWebsite to say.
func (a *Authenticator) Website(ctx context.Context, ref string) (*website.Website, error) {
	return accepted(ctx, a.refs, ref)
}

// FlagWebsite is Website for callers who ask for flags, with or without a credential: what it
// returned before serves for Config.FlagStale while the store is down. Whether a caller without
// one may use ref is for website.AcceptsClientID to say. It is not for those without FlagStale.
func (a *Authenticator) FlagWebsite(ctx context.Context, ref string) (*website.Website, error) {
	return accepted(ctx, a.flags, ref)
}

func accepted(
	ctx context.Context, cache *readcache.Cache[string, *website.Website], ref string,
) (*website.Website, error) {
	now := time.Now()
	w, err := find(ctx, cache, ref, now)
	if err == nil && !w.Accepts(ref, now) {
		return nil, website.ErrNotFound
	}
	return w, err
}

// Moves returns which websites left an organization or came to it. When the store
// cannot be asked and it is not known from before, it is a ServiceUnavailable error.
func (a *Authenticator) Moves(ctx context.Context, organizationID string) (*website.Moves, error) {
	m, err := a.moves.Get(ctx, organizationID, time.Now())
	if err != nil {
		return nil, unavailable(err)
	}
	return m, nil
}

// Remembered returns the website with a client id or an id, as far as it was looked up
// before, for whatever it was, and is remembered, else nil. It asks nobody, and what it
// returns may be old.
func (a *Authenticator) Remembered(ref string) *website.Website {
	for _, cache := range a.sites() {
		if w, ok := cache.Peek(ref); ok {
			return w
		}
	}
	return nil
}

func find(
	ctx context.Context, cache *readcache.Cache[string, *website.Website], ref string, now time.Time,
) (*website.Website, error) {
	if !website.PlausibleRef(ref) {
		return nil, website.ErrNotFound
	}
	w, err := cache.Get(ctx, ref, now)
	if err == nil || noWebsite(err) {
		return w, err
	}
	return nil, unavailable(err)
}

func unavailable(cause error) error {
	return &apierr.Error{Code: apierr.ServiceUnavailable, RetryAfter: retryAfter, Err: cause}
}
