package mcp

import (
	"bytes"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/mcpclient"
)

// TestExchange_PassesTheConformanceSuite serves the fixture through the bridge. In 2026-07-28, the
// fixture answers as the endpoint does: without sessions, with JSON unless the tool reports its
// progress. The requirements of 2025-11-25 include tools that request input from the client. For them
// the fixture has sessions, and answers with streams.
func TestExchange_PassesTheConformanceSuite(t *testing.T) {
	t.Parallel()
	for _, revision := range mcpclient.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			stateless := revision >= revision2026
			mcpclient.Conform(t, serveFixture(t, stateless), revision, "")
		})
	}
}

const headerSession = "Mcp-Session-Id"

// serveFixture serves the fixture through the bridge and returns its URL.
func serveFixture(t *testing.T, stateless bool) string {
	t.Helper()
	server := newFixture()
	handler := func(whole bool) http.Handler {
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
			Stateless: stateless, JSONResponse: whole, PropagateRequestCancellation: true, DisableLocalhostProtection: true,
		})
	}
	streams, whole := handler(false), handler(true)
	app := httpkit.New(httpkit.Config{Host: httpkit.Query, Deadline: time.Minute},
		httpkit.Deps{Log: testkit.NewLog(t, "host").Logger(), Metrics: prometheus.NewRegistry()})
	httpkit.Handle(app, fiber.MethodPost, "/mcp", func(c *fiber.Ctx) error {
		e := &Endpoint{cfg: Config{Site: &httpkit.Site{PublicURL: "http://" + c.Context().LocalAddr().String()}}}
		if err := e.checkPage(c); err != nil {
			return err
		}
		m, failed := parse(c.Body())
		if failed != nil {
			return failed.send(c)
		}
		h := whole
		if !stateless || bytes.Contains(c.Body(), []byte(toolProgress)) {
			h = streams
		}
		x := &exchange{log: slog.New(slog.DiscardHandler)}
		err := x.serve(c, h, &request{}, c.Body(), &m)
		c.Set(headerSession, x.reply.header.Get(headerSession))
		return err
	})
	url, _ := serve(t, app)
	return url + "/mcp"
}
