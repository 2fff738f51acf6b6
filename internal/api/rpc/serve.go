package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"
	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/idempotency"
	"github.com/millrace/millrace/internal/tenant/org"
)

// Deps are what serving needs.
type Deps struct {
	Identifier *Identifier
	// Repeats remembers calls with an Idempotency-Key; nil makes each of them.
	Repeats *idempotency.Calls
	Log     *slog.Logger
}

// server serves one table.
type server struct {
	deps  Deps
	doc   *Document
	turns turns
}

// endpoint is an operation where it is served.
type endpoint struct {
	*server
	resource  *Resource
	operation *Operation
	path      string
	values    int // JSON values of a body, at most
}

// Mount serves every operation of a table, as the document describes it, on the
// app.
func Mount(app *fiber.App, doc *Document, resources []Resource, deps Deps) {
	s := &server{deps: deps, doc: doc, turns: newTurns()}
	adapter := humafiber.New(app, huma.Config{OpenAPI: doc.api}).Adapter()
	for i := range resources {
		for j := range resources[i].Operations {
			e := &endpoint{server: s, resource: &resources[i], operation: &resources[i].Operations[j]}
			e.path = Path(e.resource.Name, e.operation.Name)
			e.values = doc.Values(e.path)
			adapter.Handle(doc.api.Paths[e.path].Post, func(hc huma.Context) {
				c := humafiber.Unwrap(hc)
				httpkit.Enter(c)
				if err := e.serve(c); err != nil {
					// The adapter has no way to return an error; this is where fiber
					// would take it.
					_ = app.Config().ErrorHandler(c, err)
				}
			})
		}
	}
}

// serve does one call: the body, who calls, how often, the body's syntax, may they, the
// input, do it, answer. The body comes first: it may take a minute to arrive, and who was
// signed out meanwhile calls no more.
func (e *endpoint) serve(c *fiber.Ctx) error {
	body, err := httpkit.JSON(c, httpkit.Limits{Values: e.values})
	if err != nil {
		return err
	}
	caller, err := e.deps.Identifier.Identify(c, e.operation.Limit)
	if err != nil {
		return err
	}
	lease, err := e.deps.Identifier.Admit(c, caller, e.operation.Limit)
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.UserContext())
	httpkit.WhenSent(c, func() { lease.Release(ctx) })
	if err := e.known(c, caller); err != nil {
		return err
	}
	object, err := decode(body)
	if err != nil {
		return err
	}
	call, err := e.call(c, caller, object)
	if err != nil {
		return err
	}
	who := cmp.Or(call.Principal.KeyID, call.Principal.UserID)
	httpkit.Bill(c, who, call.OrganizationID())
	input, err := check(e.doc.inputs[e.path], object, e.operation.Unstored)
	if err != nil {
		return err
	}
	if n := cmp.Or(e.operation.Response, e.resource.Record); n > 0 && e.operation.changes() {
		if err := httpkit.Memory(c).Await(c.UserContext(), n); err != nil {
			return err
		}
	}
	if key := c.Get(headerIdempotencyKey); key != "" && e.operation.changes() {
		switch {
		case !e.operation.repeats():
			return apierr.Invalid(headerIdempotencyKey, "not_taken", "Idempotency-Key is not supported by "+e.path)
		case e.deps.Repeats != nil:
			return e.once(c, call, key, input)
		}
	}
	if e.operation.long() {
		leave, err := e.turns.enter(c.UserContext(), cmp.Or(call.OrganizationID(), who))
		if err != nil {
			return err
		}
		defer leave()
	}
	out, err := e.operation.run(c.UserContext(), call, input)
	if err != nil {
		return e.seen(err)
	}
	if stream, ok := out.(*Stream); ok {
		return e.send(c, call, stream)
	}
	return e.respond(c, call, out)
}

// once makes a call unless it was made before.
func (e *endpoint) once(c *fiber.Ctx, call *Call, key string, input []byte) error {
	ctx := c.UserContext()
	claim, before, err := e.deps.Repeats.Begin(ctx, &idempotency.Call{
		Caller: string(call.By.Actor.Type) + ":" + call.By.Actor.ID, Key: key, Operation: e.path, Body: input,
		Credential: cmp.Or(string(httpkit.Credential(c)), call.SessionToken),
	})
	if err != nil {
		return err
	}
	if before != nil {
		c.Set(headerReplayed, "true")
		return e.respond(c, call, json.RawMessage(before))
	}
	out, err := e.operation.run(claim.Within(ctx), call, input)
	if err != nil {
		err = e.seen(err)
		abandon := claim.Abandon
		if httpkit.RowOf(apierr.Of(err).Code).Status >= fiber.StatusInternalServerError {
			// It may have been done, or a part of it: a repetition is rejected then, and its
			// caller told to look.
			abandon = claim.AbandonUnchanged
		}
		e.note(ctx, abandon(context.WithoutCancel(ctx)))
		return err
	}
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	// The call is made whatever becomes of this; a repetition is rejected then.
	e.note(ctx, claim.Finish(context.WithoutCancel(ctx), text))
	return e.respond(c, call, json.RawMessage(text))
}

func (e *endpoint) note(ctx context.Context, err error) {
	if err != nil {
		e.deps.Log.LogAttrs(ctx, slog.LevelWarn, "idempotency record not written", slog.String("operation", e.path),
			slog.Any("error", err))
	}
}

// known rejects nobody where a credential is needed.
func (e *endpoint) known(c *fiber.Ctx, caller *Caller) error {
	switch {
	case caller.Principal.Kind != auth.KindAnonymous:
		return nil
	case e.operation.Class == auth.Public:
		// Another site's page must not sign its visitors in as somebody else.
		return e.deps.Identifier.Site.CheckOrigin(c)
	default:
		return apierr.New(apierr.AuthRequired)
	}
}

// call puts the caller into the organization that the body names.
func (e *endpoint) call(c *fiber.Ctx, caller *Caller, object map[string]any) (*Call, error) {
	if caller.Principal.Kind != auth.KindSession { // whom no organization could admit learns nothing of any
		if err := auth.Admit(caller.Principal, e.operation.Class); err != nil {
			return nil, err
		}
	}
	p, err := caller.enter(e.operation.Class, object["organizationId"])
	if errors.Is(err, org.ErrNotFound) {
		return nil, &apierr.Error{Code: apierr.NotFound, Message: "Organization not found", Err: err}
	}
	if err == nil {
		err = auth.Admit(p, e.operation.Class)
	}
	if err != nil {
		return nil, err
	}
	call := &Call{
		Principal: p, User: caller.User, Memberships: caller.Memberships,
		Client: httpkit.ClientAddr(c), RequestID: httpkit.RequestID(c),
		SessionToken: caller.Token, DeviceToken: e.deps.Identifier.Site.DeviceToken(c),
	}
	call.seen = func(err error) error {
		seen := e.seen(err)
		if httpkit.RowOf(apierr.Of(seen).Code).Status >= fiber.StatusInternalServerError {
			e.deps.Log.LogAttrs(c.UserContext(), slog.LevelError, "record in a bulk call failed",
				slog.String("operation", e.path),
				slog.Any("error", err))
		}
		return seen
	}
	call.By = audit.By{
		Actor: actorOf(p), UserAgent: audit.UserAgent(c.Get(fiber.HeaderUserAgent)), RequestID: call.RequestID,
	}
	call.By.Grant = auth.Grant(p, e.operation.Class, httpkit.Credential(c), call.Client)
	if call.Client.IsValid() {
		call.By.IP = call.Client.String()
	}
	return call, nil
}

func actorOf(p auth.Principal) audit.Actor {
	switch p.Kind {
	case auth.KindKey:
		return audit.Actor{Type: audit.APIKey, ID: p.KeyID, Name: p.Name}
	case auth.KindSession:
		return audit.Actor{Type: audit.User, ID: p.UserID, Name: p.Name}
	default:
		return audit.Actor{Type: audit.System}
	}
}

// seen turns an error of the domain into what callers see of it.
func (e *endpoint) seen(err error) error {
	if _, ok := errors.AsType[*apierr.Error](err); ok {
		return err
	}
	for _, f := range e.resource.Failures {
		if errors.Is(err, f.Err) {
			return &apierr.Error{Code: f.Code, Message: f.Message, Err: err}
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return apierr.Wrap(apierr.DeadlineExceeded, err)
	}
	return err
}

// response is the body of a success.
type response struct {
	Success    bool        `json:"success"`
	Data       any         `json:"data"`
	Pagination *pagination `json:"pagination,omitempty"`
	RequestID  string      `json:"requestId"`
}

func (e *endpoint) respond(c *fiber.Ctx, call *Call, out any) error {
	a := response{Success: true, Data: out, RequestID: call.RequestID}
	if list, ok := out.(page); ok {
		next, err := cursor(list.next())
		if err != nil {
			return err
		}
		a.Data, a.Pagination = list.items(), &pagination{NextCursor: next, HasMore: next != nil, Limit: list.limit()}
	}
	text, err := json.Marshal(&a)
	if err != nil {
		return err
	}
	if call.session != nil {
		e.deps.Identifier.Site.SetSession(c, call.session.token, call.session.lifetime)
	}
	if call.device != nil {
		e.deps.Identifier.Site.SetDevice(c, call.device.token, call.device.lifetime)
	}
	if e.operation.changes() {
		httpkit.Committed(c)
	} else if len(text) > httpkit.WholeBytes { // while the call has its place
		if err := httpkit.Memory(c).Await(c.UserContext(), int64(len(text))); err != nil {
			return err
		}
	}
	c.Status(e.operation.Status())
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Context().Response.Header.SetContentType(fiber.MIMEApplicationJSON)
	c.Context().Response.SetBodyRaw(text)
	return nil
}
