package flagapi

import (
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// prefix is what the paths of the routes begin with.
const prefix = "/public/v1/flags"

// Route is one of the routes for flags.
type Route struct {
	Path string
	// Scope is what a key needs; empty where none is needed, and no key either.
	Scope auth.Scope
	// Help says what the route is for.
	Help string

	detail    string
	needs     []param // required parameters, besides the client id
	takes     []param // others
	responses func() map[string]*huma.Response
	handle    func(*Host, *fiber.Ctx, *work) error
}

// personParams are the parameters of a context.
var personParams = []param{
	paramUserID, paramEmail, paramAnonymousID, paramOrganizationID, paramTeamID, paramProperties, paramEnvironment,
}

// contextDetail is said of each route that takes a context.
const contextDetail = "Flags with the visibility server require an API key of the website, with any scopes. The " +
	"attributes $ip and $country come from the caller's IP address; with an API key, from properties."

// Routes is the table of the routes that are got.
var Routes = []Route{
	{
		Path: prefix + "/evaluate", Help: "Evaluate one flag.",
		needs: []param{paramKey}, takes: personParams, responses: evaluateResponses, handle: (*Host).evaluate,
		detail: "A flag that does not exist, is off or cannot be accessed by the " +
			"caller returns the same result, with the reason " + notFoundReason + ". " + contextDetail,
	},
	{
		Path: prefix + "/bulk", Help: "Evaluate a list of flags, or all active flags.",
		takes: append([]param{paramKeys}, personParams...), responses: bulkResponses, handle: (*Host).bulk,
		detail: "The response omits flags that do not exist or cannot be accessed by the caller. " + contextDetail,
	},
	{
		Path: prefix + "/definitions", Scope: auth.ScopeManageFlags,
		Help: "Get the definitions of flags and segments for local evaluation.",
		detail: "Returns active and inactive flags, but not archived ones. For a key that is limited to one website, " +
			"returns only the flags and segments of that website.",
		responses: definitionsResponses, handle: (*Host).definitions,
	},
}

// Mount adds the routes to an app.
func Mount(app *fiber.App, deps Deps) {
	h := New(deps)
	for i := range Routes {
		r := &Routes[i]
		httpkit.Handle(app, fiber.MethodGet, r.Path, func(c *fiber.Ctx) error { return h.serve(r, c) })
	}
	httpkit.Handle(app, fiber.MethodGet, pathStream, h.stream)
	h.mountOFREP(app)
	h.mountExposures(app)
}

// serve checks a request in the order of httpkit.Checks, and answers it.
func (h *Host) serve(r *Route, c *fiber.Ctx) (err error) {
	if r.Scope != "" && httpkit.Credential(c) == nil {
		from := auth.From{Addr: httpkit.ClientAddr(c), Limits: h.deps.Limits, Family: ratelimit.Flags}
		return from.Failed(c.UserContext(), apierr.New(apierr.AuthRequired))
	}
	w := works.Get().(*work) // the pool holds nothing else
	defer func() {
		h.metrics.count(&w.counted)
		if p := recover(); p != nil { // what it was at is not for the next request
			w.caller.release(c)
			w.turn.Release()
			err = h.fail(c, p)
			return
		}
		w.release(c)
	}()
	w.read(c.Context().QueryArgs())
	if w.caller, err = h.enter(c, w.text[paramClient]); err != nil {
		return err
	}
	if r.Scope != "" && !w.principal.Has(r.Scope) {
		return apierr.Wrap(apierr.Forbidden, fmt.Errorf("key %s lacks the scope %s", w.principal.KeyID, r.Scope))
	}
	if err := w.check(r.needs); err != nil {
		return err
	}
	return r.handle(h, c, w)
}

// fail answers a request whose handler panicked. Of what it panicked with nothing is told
// that could be of a context.
func (h *Host) fail(c *fiber.Ctx, p any) error {
	h.metrics.failed.Inc()
	cause, _ := p.(runtime.Error)
	h.deps.Log.LogAttrs(c.UserContext(), slog.LevelError, "evaluating flags failed",
		slog.String("route", c.Route().Path), slog.String("kind", fmt.Sprintf("%T", p)),
		slog.Any("error", cause), slog.String("stack", string(debug.Stack())))
	c.Context().Response.Header.SetContentType(fiber.MIMEApplicationJSON)
	return c.Status(fiber.StatusInternalServerError).SendString(failed)
}
