package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/linkhost"
	"github.com/millrace/millrace/internal/app/edge"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/resource/link/click"
	"github.com/millrace/millrace/internal/resource/link/linkcache"
	"github.com/millrace/millrace/internal/resource/link/redirect"
)

// serveBare302 is the limit of L1 and L2: fiber, and a response with the headers of ours.
func serveBare302(ctx context.Context, _ job, say func(result) error) error {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	target := targetOf(0)
	app.Get("/*", func(c *fiber.Ctx) error {
		h := &c.Context().Response.Header
		h.Set(fiber.HeaderLocation, target)
		h.Set(fiber.HeaderCacheControl, "private, no-store")
		h.Set("X-Robots-Tag", "noindex")
		h.Set(httpkit.HeaderRequestID, "018f3a5c-0000-7abc-8def-000000000000")
		c.Context().Response.SetStatusCode(fiber.StatusFound)
		return nil
	})
	return serveApp(ctx, app, say)
}

// serveRedirect is the host of short links, its links made up and its clicks thrown away.
func serveRedirect(ctx context.Context, j job, say func(result) error) error {
	p := newParts()
	defer p.access.Close()
	return serveLinks(ctx, p, j, madeUp{links: j.Links}, discard{}, say)
}

// serveClicks is the same with clicks that are published.
func serveClicks(ctx context.Context, j job, say func(result) error) error {
	return publishing(ctx, j, madeUp{links: j.Links}, say)
}

// serveManyLinks is the same with links of a metadata store, which can be taken away.
func serveManyLinks(ctx context.Context, j job, say func(result) error) error {
	db, err := store.Open(ctx, j.Folder, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	return publishing(ctx, j, newLeaving(db), say)
}

// publishing serves links while their clicks are published, until ctx ends.
func publishing(ctx context.Context, j job, links linkcache.Store, say func(result) error) error {
	p := newParts()
	defer p.access.Close()
	if _, err := p.salts.At(ctx, time.Now()); err != nil {
		return err
	}
	s := config.Default()
	s.Kafka = kafkaSettings(j.Brokers)
	clicks, publishing, err := edge.NewClicks(s, p.tel, p.salts, s.Link.MaxBufferedBytes)
	if err != nil {
		return err
	}
	served := lifecycle.Component{
		Name: "links", Run: func(ctx context.Context) error { return serveLinks(ctx, p, j, links, clicks, say) },
	}
	return lifecycle.Run(ctx, lifecycle.Options{Log: p.tel.Log, Grace: time.Minute}, append(publishing, served)...)
}

// fillWithin is how long reading all links is waited for, far beyond what it may take.
const fillWithin = 2 * time.Minute

// serveLinks serves the links of a store until ctx ends, and says when all are read and
// how long that took.
func serveLinks(
	ctx context.Context, p parts, j job, links linkcache.Store, clicks redirect.Clicks, say func(result) error,
) error {
	cache := linkcache.New(linkcache.Config{Entries: j.Links},
		linkcache.Deps{Store: links, Log: p.tel.Log, Metrics: p.tel.Registry})
	begin := time.Now()
	go cache.Run(ctx) // which only ends
	for err := cache.Ready(ctx); err != nil; err = cache.Ready(ctx) {
		if time.Since(begin) > fillWithin {
			return fmt.Errorf("reading the links: %w", err)
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	took := time.Since(begin).Seconds()
	app := linkhost.New(linkhost.Config{}, linkhost.Deps{
		Log: p.tel.Log, Metrics: p.tel.Registry, Tracer: p.tel.Tracer,
		Redirects: redirect.New(redirect.Config{},
			redirect.Deps{Links: cache, Directory: cache, Visitors: p.enrich, Clicks: clicks, Metrics: p.tel.Registry}),
	})
	return listen(ctx, p, app, func(r result) error { r.FillSeconds = took; return say(r) })
}

// Take implements redirect.Clicks.
func (discard) Take(*click.Click) {}

// madeUp is a store of links that nobody changes.
type madeUp struct{ links int }

// ServingLinks implements linkcache.Store.
func (m madeUp) ServingLinks(_ context.Context, before string, limit int) ([]link.Served, error) {
	last := m.links
	if before != "" {
		last = numberOf(before)
	}
	var page []link.Served
	for n := last - 1; n >= 0 && len(page) < limit; n-- {
		page = append(page, link.Served{
			ID: linkIDOf(n), OrganizationID: benchOrganization, Version: 1, SlugKey: slugOf(n), URL: targetOf(n),
			Enabled: true, RedirectStatus: fiber.StatusFound, ForwardQuery: true, Secret: make([]byte, 16),
		})
	}
	return page, nil
}

// ServingLink implements linkcache.Store.
func (madeUp) ServingLink(context.Context, string) (*link.Served, error) {
	return nil, link.ErrNotFound
}

// LinkDirectory implements linkcache.Store.
func (madeUp) LinkDirectory(context.Context) (*link.Directory, error) { return &link.Directory{}, nil }

// LinkCursor implements linkcache.Store.
func (madeUp) LinkCursor(context.Context) (c link.Cursor, err error) { return c, nil }

// LinkChanges implements linkcache.Store.
func (madeUp) LinkChanges(_ context.Context, after link.Cursor, _ int) ([]link.Change, link.Cursor, error) {
	return nil, after, nil
}

// leaving is a store of links that is away once the process gets a signal.
type leaving struct {
	*store.Store

	away atomic.Bool
}

func newLeaving(db *store.Store) *leaving {
	l := &leaving{Store: db}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, storeGone)
	go func() {
		<-signals
		l.away.Store(true)
	}()
	return l
}

var errAway = errors.New("the store is away")

// LinkChanges implements linkcache.Store.
func (l *leaving) LinkChanges(ctx context.Context, after link.Cursor, limit int) ([]link.Change, link.Cursor, error) {
	if l.away.Load() {
		return nil, after, errAway
	}
	return l.Store.LinkChanges(ctx, after, limit)
}

// LinkDirectory implements linkcache.Store.
func (l *leaving) LinkDirectory(ctx context.Context) (*link.Directory, error) {
	if l.away.Load() {
		return nil, errAway
	}
	return l.Store.LinkDirectory(ctx)
}

// ServingLink implements linkcache.Store.
func (l *leaving) ServingLink(ctx context.Context, key string) (*link.Served, error) {
	if l.away.Load() {
		return nil, errAway
	}
	return l.Store.ServingLink(ctx, key)
}
