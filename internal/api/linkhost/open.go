package linkhost

import (
	"bytes"
	"errors"
	"net/http"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/link/redirect"
)

// passCookie holds what a visitor was given for a link's password. Its path is the link's,
// and those of links below it, for which it is good for nothing.
const passCookie = "millrace_link"

// Headers in the form in which fasthttp needs no work for them.
var (
	headerLocation = []byte(fiber.HeaderLocation)
	headerCache    = []byte(fiber.HeaderCacheControl)
	headerRobots   = []byte("X-Robots-Tag")
	valueCache     = []byte("private, no-store")
	valueRobots    = []byte("noindex")
)

// setCommon sets what every response has.
func setCommon(h *fasthttp.ResponseHeader) {
	h.SetCanonical(headerCache, valueCache)
	h.SetCanonical(headerRobots, valueRobots)
}

// handlers serves the routes.
type handlers struct {
	redirects *redirect.Host
	site      httpkit.Site
}

// open serves a short link.
func (h *handlers) open(c *fiber.Ctx) error {
	rc := c.Context()
	v := h.redirects.Visit()
	defer h.redirects.Release(v)
	if err := fill(c, &v.Request); err != nil {
		return err
	}
	if err := h.redirects.Decide(c.UserContext(), v); err != nil {
		if apierr.Is(err, apierr.MethodNotAllowed) { // here, of what other links do take
			rc.Response.Header.Set(fiber.HeaderAllow, "GET, HEAD")
		}
		return err
	}
	setCommon(&rc.Response.Header)
	return responses[v.Response.Kind](h, rc, v)
}

// fill tells what a request says. It aliases fiber's memory.
func fill(c *fiber.Ctx, to *redirect.Request) error {
	rc := c.Context()
	header := &rc.Request.Header
	to.ID, to.Host, to.Path = httpkit.RequestIDBytes(c), rc.Host(), rc.URI().PathOriginal()
	to.Head, to.Addr = header.IsHead(), httpkit.ClientAddr(c)
	to.Query = rc.URI().QueryString()
	for name, value := range header.All() { // one walk costs less than to look for each
		switch string(name) {
		case fiber.HeaderUserAgent:
			first(&to.UserAgent, value)
		case fiber.HeaderReferer:
			first(&to.Referrer, value)
		case fiber.HeaderAcceptLanguage:
			first(&to.Languages, value)
		default:
			to.Prefetch = to.Prefetch || redirect.IsPrefetch(name, value)
		}
	}
	to.Pass = header.Cookie(passCookie)
	if !header.IsPost() {
		return nil
	}
	to.Posted = true
	var err error
	to.Password, err = typed(c)
	return err
}

// first keeps a value of a header unless there was one before.
func first(to *[]byte, value []byte) {
	if *to == nil {
		*to = value
	}
}

var errNoForm = errors.New("no form")

// typed returns the password in a form.
func typed(c *fiber.Ctx) ([]byte, error) {
	body, err := httpkit.Body(c)
	if err != nil {
		return nil, err
	}
	kind, _, _ := bytes.Cut(c.Context().Request.Header.ContentType(), []byte{';'})
	if !bytes.EqualFold(bytes.TrimSpace(kind), []byte(fiber.MIMEApplicationForm)) {
		return nil, &apierr.Error{
			Code:    apierr.Validation,
			Message: "Send the password as application/x-www-form-urlencoded",
			Err:     errNoForm,
		}
	}
	var form fasthttp.Args
	form.ParseBytes(body)
	return form.Peek("password"), nil
}

// responses writes each kind of response.
var responses = [...]func(*handlers, *fasthttp.RequestCtx, *redirect.Visit) error{
	redirect.Redirected:  (*handlers).redirected,
	redirect.Elsewhere:   (*handlers).redirected,
	redirect.Rooted:      (*handlers).redirected,
	redirect.Missing:     (*handlers).redirected,
	redirect.AskPassword: (*handlers).askPassword,
	redirect.Accepted:    (*handlers).accepted,
	redirect.Previewed:   (*handlers).previewed,
}

func (*handlers) redirected(rc *fasthttp.RequestCtx, v *redirect.Visit) error {
	rc.Response.SetStatusCode(v.Response.Status)
	rc.Response.Header.SetCanonical(headerLocation, v.Response.Location)
	return nil
}

// askPassword shows the form; a program that reads no pages is told what is missing.
func (*handlers) askPassword(rc *fasthttp.RequestCtx, _ *redirect.Visit) error {
	if wantsJSON(&rc.Request.Header) {
		return &apierr.Error{Code: apierr.Forbidden, Message: "This link requires a password"}
	}
	return form.send(rc)
}

// accepted has the visitor ask once more, with the pass. The address is the one that the
// cookie is for, and the visitor's way of writing it may be another.
func (h *handlers) accepted(rc *fasthttp.RequestCtx, v *redirect.Visit) error {
	path := v.LinkPath()
	cookie := http.Cookie{ //nolint:gosec // Secure wherever the host is reached by https
		Name: passCookie, Value: v.Response.Pass, Path: path, MaxAge: int(redirect.PassFor.Seconds()),
		HttpOnly: true, Secure: h.site.Secure(), SameSite: http.SameSiteLaxMode,
	}
	rc.Response.Header.Add(fiber.HeaderSetCookie, cookie.String())
	same := []byte(path)
	if len(v.Query) > 0 {
		same = append(append(same, '?'), v.Query...)
	}
	rc.Response.SetStatusCode(fiber.StatusSeeOther)
	rc.Response.Header.SetCanonical(headerLocation, same)
	return nil
}

func (h *handlers) previewed(rc *fasthttp.RequestCtx, v *redirect.Visit) error {
	p := page{Title: v.Response.Preview.Title, Preview: &v.Response.Preview}
	switch d := v.Domain(); {
	case d != nil:
		p.Address = "https://" + d.Hostname + v.LinkPath()
	case h.site.PublicURL != "":
		p.Address = h.site.PublicURL + v.LinkPath()
	}
	return p.send(rc)
}
