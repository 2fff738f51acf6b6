package redirect

import (
	"context"
	"net/netip"
	"net/url"
	"time"

	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/resource/link/click"
)

// Request is what is asked. Its bytes may be reused once the visit is decided.
type Request struct {
	ID        []byte     // of the request
	Host      []byte     // the header, as it came
	Path      []byte     // of the address, as it came
	Head      bool       // only the response's header is wanted: nothing is counted or used up
	Addr      netip.Addr // of the visitor
	UserAgent []byte
	Referrer  []byte // the header, as it came; so are the next two
	Languages []byte
	Query     []byte // without its question mark
	Prefetch  bool   // a browser asks for what it may need; see IsPrefetch
	Pass      []byte // what the visitor was given for a password; empty for none
	Posted    bool   // Password is what somebody typed
	Password  []byte
}

// Kind is what a request is answered with, unless it is rejected.
type Kind uint8

// The kinds of responses.
const (
	Redirected  Kind = iota // to Location, with Status
	Elsewhere               // likewise, because the link is over
	Rooted                  // likewise, because no slug was asked for, of a domain
	Missing                 // likewise, because there is no such link, or none that is open
	AskPassword             // with a form
	Accepted                // the password: the visitor is given Pass, and asks again
	Previewed               // with Preview
	kinds
)

// Response is what was decided.
type Response struct {
	Kind     Kind
	Status   int    // of a redirect
	Location []byte // of a redirect; valid until Release
	Pass     string // of Accepted: good for PassFor
	Preview  link.Preview
}

// Visit is one request and what becomes of it. Those who get one from a Host release it.
type Visit struct {
	Request

	Response Response

	index    *link.Index
	domain   *link.ServedDomain // nil on the host that all organizations share
	slugText []byte             // as in the address, decoded
	key      []byte
	small    [2 * link.MaxSlugLen]byte // where both are at first

	link    link.Served
	at      time.Time
	visitor enrich.Visitor
	bot     string // why the visitor is no person; empty for one
	passed  bool   // the visitor has given the link's password before
	target  link.Target
	facts   link.Facts
	click   click.Click
	room    []byte // for the location
}

// Domain is the domain that was visited; nil for the host that all organizations share.
func (v *Visit) Domain() *link.ServedDomain { return v.domain }

// LinkPath is the path of the link that was found, in the visitor's letters, each as a
// browser writes it.
func (v *Visit) LinkPath() string {
	return (&url.URL{Path: "/" + string(v.slugText)}).EscapedPath()
}

// usualLocation is how long most locations are at most, in bytes.
const usualLocation = 256

func newVisit() *Visit {
	v := &Visit{room: make([]byte, 0, usualLocation)}
	v.slugText, v.key = v.small[:0:link.MaxSlugLen], v.small[link.MaxSlugLen:link.MaxSlugLen]
	v.facts.Query = v.parameter
	return v
}

// Visit returns a visit whose request is to be filled in.
func (h *Host) Visit() *Visit { return h.visits.Get().(*Visit) } // the pool holds nothing else

// Release takes a visit back. Neither it nor what it holds may be used after that.
func (h *Host) Release(v *Visit) {
	room, slug, key, query := v.room[:0], v.slugText[:0], v.key[:0], v.facts.Query
	if cap(room) > MaxLocation {
		room = make([]byte, 0, usualLocation)
	}
	*v = Visit{} // in place: a visit is large
	v.room, v.slugText, v.key, v.facts.Query = room, slug, key, query
	h.visits.Put(v)
}

// step is one of the questions. It reports whether it has the response.
type step func(h *Host, ctx context.Context, v *Visit) (decided bool, err error)

// steps are all of them, in the order in which they are asked.
var steps = []step{
	(*Host).site, (*Host).slug, (*Host).find, (*Host).open, (*Host).password, (*Host).preview, (*Host).choose, (*Host).use,
	(*Host).redirect,
}

// Decide answers a visit's request, and takes note of a click. A rejection is an API error:
// NotFound for what is no open link, Gone for one that is over, Forbidden for a wrong
// password, RateLimited, MethodNotAllowed for a password that nobody asked for, and
// ServiceUnavailable for what cannot be found out now.
func (h *Host) Decide(ctx context.Context, v *Visit) error {
	v.at = h.deps.Now()
	v.visitor = h.deps.Visitors.Visitor(v.Addr, v.UserAgent)
	v.bot = botOf(v.visitor.Agent, v.Prefetch)
	err := h.decide(ctx, v)
	h.metrics.count(v.Response.Kind, err)
	return err
}

func (h *Host) decide(ctx context.Context, v *Visit) error {
	for _, ask := range steps {
		if decided, err := ask(h, ctx, v); decided || err != nil {
			return err
		}
	}
	return nil
}
