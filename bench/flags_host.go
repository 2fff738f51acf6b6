package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/flagapi"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/internal/testkit"
)

// benchSet is a set of flags after a number of changes, each of which changes the answers and
// not their length.
func benchSet(changes int) (*flagset.Set, error) {
	flags := make([]*flag.Flag, manyFlags)
	for i := range flags {
		flags[i] = &flag.Flag{
			Record: managed.Record{ID: fmt.Sprint("flg_", i), OrganizationID: benchOrganization},
			State:  flag.Active, About: flag.About{Type: flag.String, Visibility: flag.Public}, Definition: benchFlag(i),
		}
		for v := range flags[i].Definition.Variants {
			flags[i].Definition.Variants[v].Value = fmt.Appendf(nil, `"v%d"`, changes%10)
		}
	}
	return flagset.New(benchOrganization, flagset.Mark{Version: int64(changes)}, flags, nil)
}

// flagHost is the host of flags, with limits and the country of somebody's address.
func flagHost(p parts, sets flagapi.Sets) (*fiber.App, error) {
	geo, err := enrich.NewGeo(nil, p.tel.Log, prometheus.NewRegistry())
	if err != nil {
		return nil, err
	}
	somewhere := netip.MustParseAddr("81.2.69.142")
	app := httpkit.New(httpkit.Config{Host: httpkit.Query, Open: flagapi.Elsewhere},
		httpkit.Deps{Log: p.tel.Log, Metrics: p.tel.Registry, Tracer: p.tel.Tracer})
	flagapi.Mount(app, flagapi.Deps{
		Log: p.tel.Log, Metrics: p.tel.Registry, Sets: sets, Websites: flagSites{p.access}, Keys: p.access,
		Limits:  ratelimit.New(testkit.WideLimits(), ratelimit.Deps{Log: p.tel.Log, Metrics: p.tel.Registry}),
		Country: func(netip.Addr) string { return geo.Of(somewhere).Country },
	})
	return app, nil
}

// serveFlags serves flags until ctx ends.
func serveFlags(ctx context.Context, _ job, say func(result) error) error {
	p := newParts()
	defer p.access.Close()
	set := newOneSet()
	app, err := flagHost(p, set)
	if err != nil {
		return err
	}
	return listen(ctx, p, app, say)
}

// changeEvery is how often the flags of serveChangingFlags change.
const changeEvery = 100 * time.Millisecond

// serveChangingFlags is serveFlags while the set is made anew again and again.
func serveChangingFlags(ctx context.Context, _ job, say func(result) error) error {
	p := newParts()
	defer p.access.Close()
	set := newOneSet()
	app, err := flagHost(p, set)
	if err != nil {
		return err
	}
	go func() {
		tick := time.NewTicker(changeEvery)
		defer tick.Stop()
		for changes := 1; ctx.Err() == nil; changes++ {
			set.Store(must(benchSet(changes)))
			<-tick.C
		}
	}()
	return listen(ctx, p, app, say)
}

// serveBareFlags is the limit of F2 and F3: fiber, and an answer with the body and the headers
// of ours.
func serveBareFlags(ctx context.Context, j job, say func(result) error) error {
	header, body, err := flagAnswer(ctx, j.Flags)
	if err != nil {
		return err
	}
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Get("/public/v1/flags/"+j.Flags, func(c *fiber.Ctx) error {
		h := &c.Context().Response.Header
		for _, name := range flagHeaders {
			h.Set(name, header.Get(name))
		}
		h.SetContentType(fiber.MIMEApplicationJSON)
		return c.Send(body)
	})
	return serveApp(ctx, app, say)
}

// flagHeaders are the headers of an answer of ours that fiber does not set by itself.
var flagHeaders = []string{
	fiber.HeaderAccessControlAllowOrigin, fiber.HeaderAccessControlExposeHeaders, fiber.HeaderCacheControl,
	fiber.HeaderETag, httpkit.HeaderRequestID,
}

// flagAnswer is what our host answers.
func flagAnswer(ctx context.Context, route string) (http.Header, []byte, error) {
	p := newParts()
	defer p.access.Close()
	app, err := flagHost(p, newOneSet())
	if err != nil {
		return nil, nil, err
	}
	answer, err := app.Test(httptest.NewRequestWithContext(ctx, http.MethodGet, flagTarget(route), http.NoBody), -1)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s is answered %d: %s", route, answer.StatusCode, body)
	}
	return answer.Header, body, err
}

// oneSet is every organization's.
type oneSet struct{ atomic.Pointer[flagset.Set] }

func newOneSet() *oneSet {
	o := new(oneSet)
	o.Store(must(benchSet(0)))
	return o
}

// Get implements flagapi.Sets.
func (o *oneSet) Get(context.Context, string) (*flagset.Set, error) { return o.Load(), nil }

// AtLeast implements flagapi.Sets.
func (o *oneSet) AtLeast(context.Context, string, flagset.Mark) (*flagset.Set, error) {
	return o.Load(), nil
}

// flagSites finds websites as the ingestion host does.
type flagSites struct{ *auth.Authenticator }

// FlagWebsite implements flagapi.Websites.
func (f flagSites) FlagWebsite(ctx context.Context, ref string) (*website.Website, error) {
	return f.ClientWebsite(ctx, ref)
}
