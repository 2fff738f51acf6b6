package rpc_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/org"
)

// changing are credentials that mean something else after a while.
type changing struct {
	credentials

	change func(p *auth.Principal, members *[]org.Member) error
	asked  atomic.Int64
}

func (c *changing) now(p *auth.Principal, members *[]org.Member) error {
	if c.asked.Add(1) == 1 {
		return nil
	}
	return c.change(p, members)
}

func (c *changing) Key(ctx context.Context, secret []byte, from auth.From) (auth.Principal, error) {
	p, err := c.credentials.Key(ctx, secret, from)
	err = errors.Join(err, c.now(&p, nil))
	return p, err
}

func (c *changing) SignedIn(ctx context.Context, token string) (string, *org.User, []org.Member, error) {
	id, u, members, err := c.credentials.SignedIn(ctx, token)
	if err == nil {
		err = c.now(nil, &members)
	}
	return id, u, members, err
}

func TestStream_EndsWithTheRightOfItsCaller(t *testing.T) {
	t.Parallel()
	key, session := "X-Api-Key", "Cookie"
	for name, tc := range map[string]struct {
		header, value string
		change        func(*auth.Principal, *[]org.Member) error
		may           error
		ends          bool
	}{
		"nothing changes": {key, "good", func(*auth.Principal, *[]org.Member) error { return nil }, nil, false},
		"the key is revoked": {key, "good", func(*auth.Principal, *[]org.Member) error {
			return apierr.New(apierr.AuthRequired)
		}, nil, true},
		"the key loses its scopes": {key, "good", func(p *auth.Principal, _ *[]org.Member) error {
			p.Scopes = 0
			return nil
		}, nil, true},
		"the store is down": {key, "good", func(*auth.Principal, *[]org.Member) error {
			return apierr.New(apierr.ServiceUnavailable)
		}, nil, false},
		"the website is another's": {
			key, "good", func(*auth.Principal, *[]org.Member) error { return nil },
			apierr.New(apierr.AccessDenied), true,
		},
		"the person is signed out": {session, "token", func(*auth.Principal, *[]org.Member) error {
			return apierr.New(apierr.AuthRequired)
		}, nil, true},
		"the person is removed": {session, "token", func(_ *auth.Principal, members *[]org.Member) error {
			*members = (*members)[1:]
			return nil
		}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := &changing{change: tc.change}
			resources := []rpc.Resource{{Name: "things", Operations: []rpc.Operation{rpc.OpStream(
				rpc.Spec{Name: "export", Summary: "Export", Class: auth.ViewData},
				rpc.Streamed{ContentTypes: []string{"text/plain"}},
				func(context.Context, *rpc.Call, *rpc.InOrganization) (*rpc.Stream, error) {
					return &rpc.Stream{
						May: func(context.Context, auth.Principal) error { return tc.may },
						Stream: httpkit.Stream{ContentType: "text/plain", Write: func(ctx context.Context, w io.Writer) error {
							for held.asked.Load() < 4 { // some checks later
								if _, err := io.WriteString(w, "x"); err != nil || ctx.Err() != nil {
									return errors.Join(err, ctx.Err())
								}
							}
							return nil
						}},
					}, nil
				})}}}
			doc, err := rpc.Describe(rpc.Info{Title: "Test", Version: "1"}, resources)
			if err != nil {
				t.Fatal(err)
			}
			app := httpkit.New(httpkit.Config{Host: httpkit.Query},
				httpkit.Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
			rpc.Mount(app, doc, resources, rpc.Deps{
				Identifier: &rpc.Identifier{Keys: held, Sessions: held, Site: &httpkit.Site{}}, Log: slog.New(slog.DiscardHandler),
			})
			if ended := streamed(t, app, tc.header, tc.value); ended != tc.ends {
				t.Errorf("the stream was cut off: %t, want %t", ended, tc.ends)
			}
		})
	}
}

// streamed exports things and reports whether the response was cut off.
func streamed(t *testing.T, app *fiber.App, header, value string) (cut bool) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/rpc/things/export",
		strings.NewReader(`{"organizationId":"org_1"}`))
	if header == "Cookie" {
		value = "millrace_session=" + value
	}
	req.Header.Set(header, value)
	resp, err := app.Test(req, -1)
	if err != nil {
		return true
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the export answers %d", resp.StatusCode)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err != nil
}
