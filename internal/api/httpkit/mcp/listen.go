package mcp

import (
	"bytes"
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/places"
	"github.com/millrace/millrace/internal/tenant/auth"
)

// listen opens a stream that reports changes of the caller's tools. It has a server of its own: the
// SDK notifies all clients of a server.
func (e *Endpoint) listen(c *fiber.Ctx, r *request, body []byte, m *message) error {
	key, organization := r.Principal.KeyID, r.Principal.OrganizationID
	if err := enter(c, r.Principal, e.streams, e.cfg.StreamMemory,
		places.Share{Of: key, Most: MaxKeyStreams}, places.Share{Of: organization, Most: MaxStreams / 2}); err != nil {
		return err
	}
	shown := e.toolsOf(r.Principal)
	r.server = e.newServer()
	secret, from := bytes.Clone(httpkit.Credential(c)), auth.From{Addr: httpkit.ClientAddr(c)}
	check := func(ctx context.Context) bool {
		p, err := e.deps.Keys.Key(ctx, secret, from) // from memory: the change feed drops what has changed
		if err != nil {
			return !apierr.Is(err, apierr.AuthRequired) && !apierr.Is(err, apierr.IPNotAuthorized)
		}
		if open := e.toolsOf(p); open != shown {
			shown = open
			e.addTools(r.server)
		}
		return true
	}
	return (&exchange{check: check, log: e.deps.Log}).serve(c, e.handler, r, body, m)
}
