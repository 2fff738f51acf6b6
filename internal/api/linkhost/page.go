package linkhost

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html/template"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/link"
)

// page is a page for people, or for programs that show what a link leads to.
type page struct {
	Title, Text string
	Form        bool // asks for a password
	Wrong       bool // the last one was
	Preview     *link.Preview
	Address     string // of the link, for a preview; empty where it is not known
}

// style is that of all pages. Its hash stands in policy, which allows nothing else.
const style = `:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;margin:0;min-height:100vh;display:grid;place-items:center}` +
	`main{max-width:26rem;padding:1.5rem}h1{font-size:1.35rem;line-height:1.25}label{display:block}` +
	`input{font:inherit;width:100%;box-sizing:border-box;padding:.5rem;margin:.25rem 0 1rem;border:1px solid #767676;border-radius:.25rem}` +
	`button{font:inherit;padding:.5rem 1.25rem;border:0;border-radius:.25rem;background:#1b5cce;color:#fff}[role=alert]{font-weight:600}`

// policy says what a page may do: nothing but look as it does. It has no form-action: a
// browser holds the whole way of a form against it, and that ends at the link's address,
// on another host.
var policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; frame-ancestors 'none'"
}()

var pages = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex">
<title>{{.Title}}</title>
{{- with .Preview}}
<meta property="og:type" content="website">
{{- with $.Address}}
<meta property="og:url" content="{{.}}">
{{- end}}
{{- with .Title}}
<meta property="og:title" content="{{.}}">
<meta name="twitter:title" content="{{.}}">
{{- end}}
{{- with .Description}}
<meta name="description" content="{{.}}">
<meta property="og:description" content="{{.}}">
<meta name="twitter:description" content="{{.}}">
{{- end}}
{{- with .ImageURL}}
<meta property="og:image" content="{{.}}">
<meta name="twitter:image" content="{{.}}">
{{- end}}
<meta name="twitter:card" content="{{if .ImageURL}}summary_large_image{{else}}summary{{end}}">
{{- end}}
<style>` + style + `</style>
</head>
<body>
<main>
<h1>{{.Title}}</h1>
{{- with .Text}}
<p>{{.}}</p>
{{- end}}
{{- if .Form}}
{{- if .Wrong}}
<p role="alert">The password is wrong.</p>
{{- end}}
<form method="post">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="off" required autofocus>
<button>Open link</button>
</form>
{{- end}}
{{- with .Preview}}{{with .Description}}
<p>{{.}}</p>
{{- end}}{{end}}
</main>
</body>
</html>
`))

// The pages of rejections, by code.
var (
	form     = page{Title: "This link is protected", Text: "Enter the password to open the link.", Form: true}
	failed   = page{Title: "Something went wrong", Text: "The link could not be opened. Please try again later."}
	rejected = map[apierr.Code]page{
		apierr.NotFound:    {Title: "Link not found", Text: "There is no link at this address."},
		apierr.Gone:        {Title: "Link expired", Text: "This link is no longer active."},
		apierr.Forbidden:   {Title: form.Title, Text: form.Text, Form: true, Wrong: true},
		apierr.RateLimited: {Title: "Too many attempts", Text: "Please wait a minute and try again."},
		apierr.ServiceUnavailable: {
			Title: "Not available now", Text: "The link could not be opened. Please try again in a few seconds.",
		},
		apierr.MethodNotAllowed: {Title: "Not possible", Text: "A link can only be opened."},
	}
)

// send answers with the page; the status is the caller's.
func (p *page) send(rc *fasthttp.RequestCtx) error {
	var text bytes.Buffer
	if err := pages.Execute(&text, p); err != nil {
		return err
	}
	h := &rc.Response.Header
	h.SetContentType(fiber.MIMETextHTMLCharsetUTF8)
	h.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	h.Set(fiber.HeaderContentSecurityPolicy, policy)
	h.Add(fiber.HeaderVary, fiber.HeaderAccept)
	rc.Response.SetBodyRaw(text.Bytes())
	return nil
}

// reject answers a rejected request with a page, if it wants one.
func reject(rc *fasthttp.RequestCtx, r httpkit.Rejection) bool {
	h := &rc.Response.Header
	setCommon(h)
	h.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	if r.Code == apierr.MethodNotAllowed && len(h.Peek(fiber.HeaderAllow)) == 0 {
		h.Set(fiber.HeaderAllow, "GET, HEAD, POST")
	}
	if !wantsPage(&rc.Request.Header) {
		h.Add(fiber.HeaderVary, fiber.HeaderAccept)
		return false
	}
	p, ok := rejected[r.Code]
	if !ok {
		p = failed
	}
	return p.send(rc) == nil
}

// wantsPage reports whether who asks reads pages: browsers say so.
func wantsPage(h *fasthttp.RequestHeader) bool {
	return bytes.Contains(h.Peek(fiber.HeaderAccept), []byte(fiber.MIMETextHTML))
}

// wantsJSON reports whether they ask for JSON, and read no pages.
func wantsJSON(h *fasthttp.RequestHeader) bool {
	return !wantsPage(h) && bytes.Contains(h.Peek(fiber.HeaderAccept), []byte(fiber.MIMEApplicationJSON))
}
