package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// How long clients may keep what is the same for everybody, and what depends on the caller.
const (
	publicFor  = time.Hour
	privateFor = 5 * time.Minute
)

// toolSet is a set of the endpoint's tools, with bit i for Config.Tools[i].
type toolSet uint64

// toolsOf returns the tools that are open to a principal.
func (e *Endpoint) toolsOf(p auth.Principal) (set toolSet) {
	for i := range e.cfg.Tools {
		if e.cfg.Tools[i].open(p) {
			set |= 1 << i
		}
	}
	return set
}

// newServer returns a server with all tools. Callers see those that are open to them.
func (e *Endpoint) newServer() *mcp.Server {
	s := mcp.NewServer(
		&mcp.Implementation{Name: e.cfg.Name, Title: e.cfg.Title, Version: e.cfg.Version},
		&mcp.ServerOptions{
			Instructions: e.cfg.Instructions, Logger: slog.New(slog.DiscardHandler), SetCacheable: cacheable,
			SupportedProtocolVersions: httpkit.MCPRevisions,
			Capabilities: &mcp.ServerCapabilities{
				Tools: &mcp.ToolCapabilities{ListChanged: true}, Resources: &mcp.ResourceCapabilities{},
			},
		})
	e.addTools(s)
	for i := range e.cfg.Resources {
		r := &e.cfg.Resources[i]
		s.AddResource(&mcp.Resource{
			URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType,
		}, r.read)
	}
	s.AddReceivingMiddleware(e.hide)
	return s
}

// addTools adds the tools. Where a server has them, it notifies its clients of a change.
func (e *Endpoint) addTools(s *mcp.Server) {
	for i := range e.cfg.Tools {
		t := &e.cfg.Tools[i]
		s.AddTool(t.Definition(), e.answer(t))
	}
}

// cacheable sets how long clients may cache a list or a document.
func cacheable(_ context.Context, r mcp.Request, c *mcp.Cacheable) {
	c.TTLMs, c.CacheScope = int(publicFor.Milliseconds()), "public"
	if _, ok := r.(*mcp.ListToolsRequest); ok {
		c.TTLMs, c.CacheScope = int(privateFor.Milliseconds()), "private"
	}
}

// read returns the resource's text.
func (r *Resource) read(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
		URI: r.URI, MIMEType: r.MIMEType, Text: r.Text(),
	}}}, nil
}

// hide removes from lists the tools that are not open to the caller. A call of one reaches its
// handler, so that the SDK completes the result as the revision requires.
func (e *Endpoint) hide(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, r)
		if list, ok := result.(*mcp.ListToolsResult); ok && err == nil {
			open := map[string]bool{}
			for i := range e.cfg.Tools {
				open[e.cfg.Tools[i].Name] = e.cfg.Tools[i].open(requestOf(ctx).Principal)
			}
			list.Tools = slices.DeleteFunc(list.Tools, func(t *mcp.Tool) bool { return !open[t.Name] })
		}
		return result, err
	}
}

// answer is the SDK's handler of a tool.
func (e *Endpoint) answer(t *Tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := requestOf(ctx)
		started := time.Now()
		result, err := e.call(r, t, req)
		outcome := outcomeOK
		if err != nil {
			failed := e.explain(r.ctx, t, err)
			result, outcome = failed.result(), failed.Code
		}
		if errors.Is(r.ctx.Err(), context.Canceled) { // the client left: it gets no outcome
			return result, nil
		}
		e.metrics.count(t.Name, outcome)
		e.metrics.duration.Observe(time.Since(started).Seconds())
		return result, nil
	}
}

// call checks the caller, counts a call against the limit of its tool's class, and makes it.
func (e *Endpoint) call(r *request, t *Tool, req *mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if !t.open(r.Principal) {
		return nil, t.forbidden(r.Principal)
	}
	if t.Class != ratelimit.MCP { // by which the message was counted
		lease, err := e.deps.Limits.Admit(r.ctx, ratelimit.Request{
			Family: t.Class, Who: ratelimit.Identity{Kind: ratelimit.Key, ID: r.Principal.KeyID},
		})
		if err != nil {
			return nil, err
		}
		lease.Release(r.ctx)
	}
	c := &Call{Caller: r.Caller, Arguments: req.Params.Arguments}
	if len(c.Arguments) == 0 || string(c.Arguments) == "null" {
		c.Arguments = json.RawMessage("{}")
	}
	if c.Arguments[0] != '{' {
		return nil, &Error{Code: InvalidInput, Message: "arguments must be a JSON object"}
	}
	if t.Preview != nil {
		if result, err := e.confirm(r.ctx, t, c, req); result != nil || err != nil {
			return result, err
		}
	}
	answer, err := t.Run(r.ctx, c)
	if err != nil {
		return nil, err
	}
	return answer.result()
}

// explain returns an error as the model sees it, and logs what it does not see.
func (e *Endpoint) explain(ctx context.Context, t *Tool, err error) *Error {
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed
	}
	if failed, ok := errors.AsType[*apierr.Error](err); ok {
		return From(failed)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return From(apierr.New(apierr.DeadlineExceeded))
	}
	e.deps.Log.LogAttrs(ctx, slog.LevelError, "MCP tool failed", slog.String("tool", t.Name), slog.Any("error", err))
	return From(apierr.New(apierr.Internal))
}
