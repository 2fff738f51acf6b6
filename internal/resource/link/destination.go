package link

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Rules are what an operator says about links.
type Rules struct {
	// Schemes are those that a destination may have, in lower case. Settings allow none
	// that a browser runs, or opens on the visitor's machine.
	Schemes []string
	// PublicURL is where visitors reach the host that all organizations share, without a
	// slash at the end; empty where there is none. No destination may lead there.
	PublicURL string
	// OwnHosts are the names of our other hosts, which are no organization's domain.
	OwnHosts []string
	MaxLinks int // of an organization

	// blocked says of hosts that the store was asked about whether no destination may lead
	// there, and serving are those of them that are domains which serve.
	blocked map[string]bool
	serving []string
}

// ShortURL is the address of a link; empty where there is no host for it.
func (r *Rules) ShortURL(l *Link) string {
	base := r.PublicURL
	if l.DomainID != "" {
		base = "https://" + l.Hostname
	}
	if base == "" || l.DomainID != "" && l.Hostname == "" {
		return ""
	}
	path := url.URL{Path: l.Slug}
	return base + "/" + path.EscapedPath()
}

// QRURL is the address in a link's QR code, by which its visits are told from others;
// empty where there is no host for it.
func (r *Rules) QRURL(l *Link) string {
	short := r.ShortURL(l)
	if short == "" {
		return ""
	}
	return short + "?qr=1"
}

// checkURL adds what is wrong with an address that a browser is to be sent to.
func (r *Rules) checkURL(bad *apierr.Rejection, field, text string) {
	switch {
	case text == "":
		bad.Add(field, "required", "%s must not be empty", field)
		return
	case len(text) > MaxURLBytes:
		bad.Add(field, "too_long", "%s has %d bytes; at most %d are allowed", field, len(text), MaxURLBytes)
		return
	case !utf8.ValidString(text), strings.ContainsFunc(text, notInURL):
		bad.Add(field, "invalid_url", "%s must not contain spaces, control characters or backslashes", field)
		return
	}
	u, err := url.Parse(text)
	if err != nil {
		bad.Add(field, "invalid_url", "%s must be an absolute URL such as https://example.com/path", field)
		return
	}
	web := u.Scheme == "http" || u.Scheme == "https"
	host, known := parseHost(u.Hostname())
	switch {
	case !slices.Contains(r.Schemes, u.Scheme):
		bad.Add(field, "scheme", "%s must begin with %s", field, r.beginnings())
	case u.User != nil:
		bad.Add(field, "userinfo", "%s must not contain a user name or password", field)
	case web && (u.Opaque != "" || u.Hostname() == ""):
		bad.Add(field, "invalid_url", "%s must be an absolute URL such as https://example.com/path", field)
	case web && !known:
		bad.Add(field, "invalid_host", "%s must have a valid host; IDNA rejects %.100q", field, u.Hostname())
	case web && r.ours(host):
		bad.Add(field, "own_host", "%s must not point to a short-link host", field)
	case web && r.blocked[host]:
		bad.Add(field, "blocked_host", "%s must not point to a host that the operator has blocked", field)
	}
}

func (r *Rules) beginnings() string {
	begin := make([]string, len(r.Schemes))
	for i, s := range r.Schemes {
		if begin[i] = s + ":"; s == "http" || s == "https" {
			begin[i] += "//"
		}
	}
	return strings.Join(begin, " or ")
}

// ours reports whether a browser means one of our short-link hosts by a name. Its ports do
// not matter: a redirect from one to another of them is still one from us to us.
func (r *Rules) ours(host string) bool {
	key := HostKey(host)
	return key == HostOf(r.PublicURL) || slices.Contains(r.serving, key)
}

func notInURL(r rune) bool { return r == '\\' || unicode.IsSpace(r) || unicode.IsControl(r) }
