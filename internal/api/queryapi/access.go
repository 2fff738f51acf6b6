package queryapi

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

// require rejects a caller who holds the scope nowhere.
func require(caller *request, scope auth.Scope) error {
	if !caller.Holds(scope) {
		return apierr.Wrap(apierr.Forbidden, fmt.Errorf("%s lacks the scope %s",
			cmp.Or(caller.Principal.KeyID, caller.Principal.UserID), scope))
	}
	return nil
}

// denied is the response for what the caller may not see and for what is not there.
func denied(what string, cause error) error {
	return &apierr.Error{Code: apierr.AccessDenied, Message: "Access denied to this " + what, Err: cause}
}

var errNoSuch = errors.New("nothing has this id")

// standing is what a caller may ask about a subject.
type standing struct {
	subject analytics.Subject
	// scopes are those that the caller holds there.
	scopes auth.ScopeSet
	// public says that everybody may ask the public types.
	public bool
	// anonymous says that nobody is known to call.
	anonymous bool
	// absent is why nothing can be said of the subject, which a caller learns once what
	// it asks for makes sense; nil where there is one.
	absent error
}

// bill has the memory of the response claimed in the caller's name, and in that of the subject's
// organization.
func (s *standing) bill(c *fiber.Ctx, caller *request) {
	httpkit.Bill(c, cmp.Or(caller.Principal.KeyID, caller.Principal.UserID), cmp.Or(s.subject.Organization, s.subject.ID))
}

// readers are the scopes of which a caller holds one at least: those of query types, and
// those by which subjects are read.
var readers = sync.OnceValue(func() (set auth.ScopeSet) {
	names := []string{string(auth.ScopeReadData), string(auth.ScopeReadMonitors)}
	for i := range analytics.Catalog {
		names = append(names, analytics.Catalog[i].Scope)
	}
	set, _ = auth.ParseScopes(names) // which a test has looked at
	return set
})

// reject says why a type may not be asked for; nil when it may. What is asked by personal fields,
// such as the summary of users with an email address, or of one session, would tell who they are.
func (s *standing) reject(t *analytics.Type, personal bool) error {
	switch {
	case s.scopes.Has(auth.Scope(t.Scope)), s.public && t.Public && !personal:
		return nil
	case s.anonymous:
		return analytics.ErrNoCredential
	default:
		return analytics.ErrNotCovered
	}
}

// onlyPublic reports whether a type may be asked for only because it is public.
func (s *standing) onlyPublic(t *analytics.Type) bool { return !s.scopes.Has(auth.Scope(t.Scope)) }

// covered rejects a request about what is not there, or of which nothing is covered.
func covered(plans []analytics.Plan, c *request, may *standing) error {
	if may.absent != nil {
		return may.absent
	}
	message := "" // the standard one
	for i := range plans {
		for j := range plans[i].Outputs {
			rejected := plans[i].Outputs[j].Rejected
			if rejected == nil {
				return nil
			}
			if personal, ok := errors.AsType[*analytics.PersonalFieldError](rejected); ok {
				message = personal.Error()
			}
		}
	}
	switch {
	case c.elsewhere != nil:
		return c.elsewhere
	case c.anonymous():
		return &apierr.Error{Code: apierr.AuthRequired, Message: message, Err: analytics.ErrNoCredential}
	}
	return &apierr.Error{Code: apierr.Forbidden, Message: message, Err: analytics.ErrNotCovered}
}

// subjectParameter is a parameter of the query string that says what a query is about.
type subjectParameter struct {
	parameter string
	resolve   func(h *handlers, c *fiber.Ctx, caller *request, id string) (standing, error)
}

// subjects are the ways to say what a query is about, in the order in which they
// win over each other.
var subjects = []subjectParameter{
	{"link_id", (*handlers).link},
	{"schedule_id", (*handlers).monitor},
	{"website_id", (*handlers).website},
	{"organization_id", (*handlers).organization},
}

// zoneParameter is the parameter of the query string that names the time zone.
const zoneParameter = "timezone"

// checkParameters rejects what the query string has beside what is known, and what it has
// twice: a website that is named wrongly would be a response about the whole organization, and
// the second of two would be none at all.
func checkParameters(c *fiber.Ctx) error {
	names := []string{zoneParameter}
	for _, s := range subjects {
		names = append(names, s.parameter)
	}
	var rejection apierr.Rejection
	seen := map[string]bool{}
	for key := range c.Context().QueryArgs().All() {
		name := string(key)
		switch {
		case rejection.Full():
		case !slices.Contains(names, name):
			rejection.Append(unknown("query parameter", name, names))
		case seen[name]:
			rejection.Add(name, "duplicate", "%s must be given only once", name)
		}
		seen[name] = true
	}
	return rejection.Err()
}

// empty reports whether the query string has a subject without an id, as an unset
// variable of a script leaves it.
func empty(c *fiber.Ctx) bool {
	return slices.ContainsFunc(subjects, func(s subjectParameter) bool { return c.Context().QueryArgs().Has(s.parameter) })
}

// subject says what the request is about, from the query string, and what the caller
// may ask of it. A request that names nothing is about the organization of a key that
// reaches all of it, or the only one of a person.
func (h *handlers) subject(c *fiber.Ctx, caller *request) (standing, error) {
	for _, s := range subjects {
		if id := c.Query(s.parameter); id != "" {
			return s.resolve(h, c, caller, id)
		}
	}
	if err := known(caller); err != nil {
		return standing{}, err
	}
	p, err := caller.In("")
	if err != nil {
		return standing{}, err
	}
	if empty(c) || !p.Global() || p.OrganizationID == "" {
		return standing{}, apierr.New(apierr.MissingProjectID)
	}
	return h.allOf(c, p)
}

// allOf is what a caller may ask about all of their organization: about the websites
// that are its own today.
func (h *handlers) allOf(c *fiber.Ctx, p auth.Principal) (standing, error) {
	moves := &website.Moves{}
	if h.moves != nil {
		var err error
		if moves, err = h.moves.Moves(c.UserContext(), p.OrganizationID); err != nil {
			return standing{}, err
		}
	}
	return standing{subject: analytics.Organized(p.OrganizationID, moves.Left, moves.Came), scopes: p.Scopes}, nil
}

// known rejects nobody, and who may read nothing. What a type needs is looked at with the
// type.
func known(caller *request) error {
	if caller.anonymous() {
		return caller.unauthorized()
	}
	for _, name := range readers().Strings() {
		if caller.Holds(auth.Scope(name)) {
			return nil
		}
	}
	return readsNothing(caller.Principal)
}

func readsNothing(p auth.Principal) error {
	return apierr.Wrap(apierr.Forbidden, fmt.Errorf("%s lacks a read scope: one of %v is required",
		cmp.Or(p.KeyID, p.UserID), readers().Strings()))
}

// monitor knows of none: no monitor exists yet, and what does not exist is denied.
func (*handlers) monitor(_ *fiber.Ctx, caller *request, _ string) (standing, error) {
	return absent(caller, auth.ScopeReadMonitors, "monitor")
}

// absent is the standing of a caller to what is not there and is read by a scope.
func absent(caller *request, scope auth.Scope, what string) (standing, error) {
	if caller.anonymous() {
		return standing{}, caller.unauthorized()
	}
	if err := require(caller, scope); err != nil {
		return standing{}, err
	}
	return standing{subject: analytics.Subject{Kind: analytics.AnySubject}, absent: denied(what, errNoSuch)}, nil
}

// website finds a website. Of a public one everybody may ask the public types: who
// may ask nothing else of it is as good as nobody there. What is said of a website
// that is not public is the same whether it exists or not.
func (h *handlers) website(c *fiber.Ctx, caller *request, ref string) (standing, error) {
	w, err := h.access.Website(c.UserContext(), ref)
	public := err == nil && w.Public
	var p auth.Principal
	if err == nil {
		p, err = authorize(caller, w)
	}
	switch {
	case err == nil:
		return standing{subject: subjectOf(w), scopes: p.Scopes, public: public}, nil
	case public && (apierr.Is(err, apierr.AuthRequired) || apierr.Is(err, apierr.Forbidden) || hidden(err)):
		return standing{subject: subjectOf(w), public: true, anonymous: caller.anonymous()}, nil
	case apierr.Is(err, apierr.AuthRequired), hidden(err):
		if err := known(caller); err != nil {
			return standing{}, err
		}
		return standing{}, denied("website", err)
	}
	return standing{}, err
}

// subjectOf is a website, whose turns are its organization's.
func subjectOf(w *website.Website) analytics.Subject {
	return analytics.Subject{Kind: analytics.Website, ID: w.ID, Organization: w.OrganizationID}
}

// hidden reports an error of a website that the caller learns nothing about.
func hidden(err error) bool {
	return errors.Is(err, website.ErrNotFound) || errors.Is(err, org.ErrNotFound) || apierr.Is(err, apierr.AccessDenied)
}

// authorize says whether the caller may query a website, and as whom: a person in the
// organization that the website belongs to.
func authorize(caller *request, w *website.Website) (auth.Principal, error) {
	p := caller.Principal
	if caller.anonymous() {
		return p, caller.unauthorized()
	}
	if p.Kind == auth.KindSession {
		if w.OrganizationID == "" {
			return p, website.ErrNotFound
		}
		var err error
		if p, err = caller.In(w.OrganizationID); err != nil {
			return p, err
		}
	}
	if !p.Scopes.HasAny(readers()) {
		return p, readsNothing(p)
	}
	return p, auth.ReachWebsite(p, w)
}

func (h *handlers) organization(c *fiber.Ctx, caller *request, id string) (standing, error) {
	if err := known(caller); err != nil {
		return standing{}, err
	}
	p, err := caller.In(id)
	if err != nil || !p.Global() {
		return standing{}, denied("organization", errNoSuch)
	}
	return h.allOf(c, p)
}
