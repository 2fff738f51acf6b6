package main

import (
	"context"
	"encoding/json"
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

// benchFlags are the flags of a set, and what a store has of each.
type benchFlags struct {
	flags []*flag.Flag
	texts [][]byte
}

func newBenchFlags() *benchFlags {
	b := &benchFlags{flags: make([]*flag.Flag, manyFlags), texts: make([][]byte, manyFlags)}
	for i := range b.flags {
		b.texts[i] = must(json.Marshal(benchFlag(i)))
		b.read(i, 1)
	}
	return b
}

// read makes a flag of what the store has, as that does.
func (b *benchFlags) read(i, version int) {
	b.flags[i] = &flag.Flag{
		Record: managed.Record{ID: fmt.Sprint("flg_", i), OrganizationID: benchOrganization, Version: int64(version)},
		State:  flag.Active, About: flag.About{Type: flag.String, Visibility: flag.Public},
	}
	if err := json.Unmarshal(b.texts[i], &b.flags[i].Definition); err != nil {
		panic(err) // it was written by this process
	}
}

// change makes the next set after the change of one flag: answers change, and not their length.
func (b *benchFlags) change(was *flagset.Set, version int) (*flagset.Set, error) {
	i := version % manyFlags
	d := benchFlag(i)
	for v := range d.Variants {
		d.Variants[v].Value = fmt.Appendf(nil, `"v%d"`, version/manyFlags%10) // another one at each turn of the flags
	}
	b.texts[i] = must(json.Marshal(d))
	b.read(i, version)
	return b.set(was, version)
}

func (b *benchFlags) set(was *flagset.Set, version int) (*flagset.Set, error) {
	return flagset.Renew(was, benchOrganization, flagset.Mark{Version: int64(version)}, b.flags, nil)
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

// serveChangingFlags is serveFlags while one flag after another changes.
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
		flags := newBenchFlags()
		for version := 2; ctx.Err() == nil; version++ {
			set.Store(must(flags.change(set.Load(), version)))
			<-tick.C
		}
	}()
	return listen(ctx, p, app, say)
}

// serveBareFlags is the limit of F2 and F3: fiber, and a response with the body and the headers
// of ours.
func serveBareFlags(ctx context.Context, j job, say func(result) error) error {
	header, body, err := flagResponse(ctx, j.Flags)
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

// flagHeaders are the headers of a response of ours that fiber does not set by itself.
var flagHeaders = []string{
	fiber.HeaderAccessControlAllowOrigin, fiber.HeaderAccessControlExposeHeaders, fiber.HeaderCacheControl,
	fiber.HeaderETag, httpkit.HeaderRequestID,
}

// flagResponse is what our host answers.
func flagResponse(ctx context.Context, route string) (http.Header, []byte, error) {
	p := newParts()
	defer p.access.Close()
	app, err := flagHost(p, newOneSet())
	if err != nil {
		return nil, nil, err
	}
	response, err := app.Test(httptest.NewRequestWithContext(ctx, http.MethodGet, flagTarget(route), http.NoBody), -1)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s is answered %d: %s", route, response.StatusCode, body)
	}
	return response.Header, body, err
}

// oneSet is every organization's.
type oneSet struct{ atomic.Pointer[flagset.Set] }

func newOneSet() *oneSet {
	o := new(oneSet)
	o.Store(must(newBenchFlags().set(nil, 1)))
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
