package ingest

import (
	"bytes"
	"net/netip"
	"strings"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/cidr"
	"github.com/millrace/millrace/internal/tenant/website"
)

// checkCaller says whether a website takes events under its client id from a page of
// an origin, or from nobody's page where origin is nil, and from an address. The
// error is an OriginNotAuthorized or an IPNotAuthorized error.
func checkCaller(w *website.Website, origin []byte, from netip.Addr) error {
	if !allowsOrigin(w, origin) {
		return apierr.New(apierr.OriginNotAuthorized)
	}
	if len(w.AllowedIPs) > 0 && !listed(w.AllowedIPs, from) {
		return apierr.New(apierr.IPNotAuthorized)
	}
	return nil
}

// allowsOrigin reports whether pages of an origin may send for a website: those of
// its domain, of the domains below it, and of the hosts that it lists. Scheme and
// port do not matter. Who sends no origin is no page, and is let in unless the
// website lists origins.
func allowsOrigin(w *website.Website, origin []byte) bool {
	if len(origin) == 0 {
		return len(w.AllowedOrigins) == 0
	}
	host, ok := hostOf(origin)
	if !ok {
		return false
	}
	if w.Domain != "" && (host == w.Domain || below(host, w.Domain)) {
		return true
	}
	if len(w.AllowedOrigins) == 0 {
		return false
	}
	bare := website.WithoutWWW(host)
	for _, entry := range w.AllowedOrigins {
		if domain, wild := strings.CutPrefix(entry, "*."); wild && below(host, domain) || entry == host || entry == bare {
			return true
		}
	}
	return false
}

// below reports whether host lies under domain; an address lies under nothing.
func below(host, domain string) bool {
	rest, ok := strings.CutSuffix(host, domain)
	return ok && len(rest) > 1 && rest[len(rest)-1] == '.'
}

// hostOf returns the host of an Origin in lower case: neither its port, nor the
// brackets of an address.
func hostOf(origin []byte) (host string, ok bool) {
	scheme, rest, ok := bytes.Cut(origin, []byte("://"))
	if !ok || len(scheme) == 0 || len(rest) == 0 || len(rest) > website.MaxDomainLen+len(":65535") ||
		bytes.ContainsAny(rest, "/?#@\\ ") {
		return "", false
	}
	if rest[0] == '[' {
		end := bytes.IndexByte(rest, ']')
		if end < 0 {
			return "", false
		}
		rest = rest[1:end]
	} else if i := bytes.IndexByte(rest, ':'); i >= 0 {
		rest = rest[:i]
	}
	host = strings.TrimSuffix(strings.ToLower(string(rest)), ".")
	return host, host != ""
}

// listed reports whether one of a website's addresses and ranges holds an address.
// They were checked when they were set; one that cannot be read holds nothing.
func listed(list []string, addr netip.Addr) bool {
	for _, entry := range list {
		if p, err := cidr.Parse(entry); err == nil && cidr.Contains([]netip.Prefix{p}, addr) {
			return true
		}
	}
	return false
}
