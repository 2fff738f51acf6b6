package millrace

import (
	"context"
	"maps"
	"slices"
	"time"
)

// prepare makes an event ready to be sent. Without an item, the result is final.
func (c *Client) prepare(ctx context.Context, e Event) (*item, Result) {
	if err := ctx.Err(); err != nil {
		return nil, canceled(context.Cause(ctx)).of(e.EventID)
	}
	now := time.Now()
	c.mu.RLock()
	global, middleware := c.global, c.middleware
	c.mu.RUnlock()
	e.Properties = merged(global, e.Properties, len(middleware) > 0)
	c.fill(&e, now)
	for _, m := range middleware {
		if !m(ctx, &e) {
			return nil, Result{Success: true, Delivery: Skipped, EventID: e.EventID, Why: "A middleware dropped the event."}
		}
	}
	if e.EventID == "" || e.Timestamp.IsZero() {
		c.fill(&e, now) // a middleware has taken them away
	}
	body, wrong := e.encode()
	if wrong != "" {
		return nil, rejected(CodeValidation, wrong).of(e.EventID)
	}
	return &item{identity: identity{e.WebsiteID, e.EventID}, body: body}, Result{Success: true, EventID: e.EventID}
}

// merged returns the properties of an event over the global ones; a map of its own
// if somebody may change it.
func merged(global, own map[string]any, copied bool) map[string]any {
	if len(global) == 0 && !copied {
		return own
	}
	all := make(map[string]any, len(global)+len(own))
	maps.Copy(all, global)
	maps.Copy(all, own)
	return all
}

// fill gives an event what it does not have.
func (c *Client) fill(e *Event, now time.Time) {
	for _, f := range [...]struct {
		to    *string
		value string
	}{{&e.WebsiteID, c.opts.websiteID}, {&e.Namespace, c.opts.namespace}, {&e.Source, c.opts.source}} {
		if *f.to == "" {
			*f.to = f.value
		}
	}
	if e.EventID == "" {
		e.EventID = newID(now)
	}
	if e.Timestamp.IsZero() {
		e.Timestamp = now
	}
}

// fillIdentity does the same for an identity.
func (c *Client) fillIdentity(i *Identity, now time.Time) {
	if i.WebsiteID == "" {
		i.WebsiteID = c.opts.websiteID
	}
	if i.EventID == "" {
		i.EventID = newID(now)
	}
	if i.Timestamp.IsZero() {
		i.Timestamp = now
	}
}

// SetGlobalProperties adds properties to all events tracked from now on, beside
// those set before. An event's own stand above them. The values must not be changed
// afterwards.
func (c *Client) SetGlobalProperties(properties map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.global = merged(c.global, properties, true)
}

// GlobalProperties returns a copy of the global properties.
func (c *Client) GlobalProperties() map[string]any {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return merged(nil, c.global, true)
}

// ClearGlobalProperties takes all global properties away.
func (c *Client) ClearGlobalProperties() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.global = nil
}

// AddMiddleware adds middleware behind what there is. A nil one is none.
func (c *Client) AddMiddleware(m ...Middleware) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.middleware = slices.DeleteFunc(slices.Concat(c.middleware, m), func(m Middleware) bool { return m == nil })
}

// ClearMiddleware takes all middleware away.
func (c *Client) ClearMiddleware() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.middleware = nil
}
