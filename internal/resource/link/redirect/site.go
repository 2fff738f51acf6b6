package redirect

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/link"
)

const (
	maxHost    = 253 // the length of the longest name of a host, in bytes
	retryAfter = 5 * time.Second
)

// appendHost appends the name in a Host header: in lower case, without a port, without a dot
// at its end, and an address of IPv6 without its brackets. What is too long for a name is
// empty.
func appendHost(b, header []byte) []byte {
	name := header
	if i := bytes.LastIndexByte(name, ':'); i > bytes.LastIndexByte(name, ']') {
		name = name[:i]
	}
	name = bytes.TrimSuffix(bytes.Trim(name, "[]"), []byte{'.'})
	if len(name) > maxHost {
		return b
	}
	for _, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

// directory is what is known of domains and blocks; nil where that is nothing now.
func (h *Host) directory() *link.Index {
	if h.deps.Directory == nil {
		return &noDirectory
	}
	return h.deps.Directory.Directory()
}

var noDirectory link.Index

// errNoDirectory rejects what cannot be decided without a directory.
func errNoDirectory() error {
	return &apierr.Error{
		Code: apierr.ServiceUnavailable, Message: "Domains and blocked links cannot be read now", RetryAfter: retryAfter,
	}
}

// at returns the domain of a Host header, nil for the shared host; known is false for neither.
func (h *Host) at(x *link.Index, header []byte) (d *link.ServedDomain, known bool) {
	if string(header) == h.shared || h.shared == "" && x.Domains() == 0 { // as most of them are
		return nil, true
	}
	var room [maxHost]byte
	host := appendHost(room[:0], header)
	if h.shared != "" && string(host) == h.shared {
		return nil, true
	}
	d = x.Domain(host)
	return d, d != nil || h.shared == ""
}

// Serves reports whether visitors of a host, named in ASCII, get short links: the shared one,
// where it has a name, and the domains that were proved. It returns a ServiceUnavailable
// error when that is not known now.
func (h *Host) Serves(host string) (bool, error) {
	x := h.directory()
	if x == nil {
		return false, errNoDirectory()
	}
	name := appendHost(nil, []byte(host))
	return h.shared != "" && string(name) == h.shared || x.Domain(name) != nil, nil
}

// site asks for whose links the host is. One that nobody knows is an unknown slug, the same
// for all of its paths: it may be a mistake of those who made the name lead here, and none of
// the many that ask from one address.
func (h *Host) site(_ context.Context, v *Visit) (bool, error) {
	if v.index = h.directory(); v.index == nil {
		return false, errNoDirectory()
	}
	var known bool
	if v.domain, known = h.at(v.index, v.Host); known {
		return false, nil
	}
	if err := h.unknown.take(h.unknown.network(v.Addr), h.unknown.text(noSlug), v.at); err != nil {
		return false, err
	}
	return false, apierr.New(apierr.NotFound)
}

// noSlug is the key of no link.
const noSlug = "/"

// slug reads the slug from the path. What can be none leads where unknown ones do, and is no
// try to find one: browsers and crawlers ask for it by themselves.
func (h *Host) slug(_ context.Context, v *Visit) (bool, error) {
	var ok bool
	switch {
	case v.domain == nil:
		v.slugText, ok = appendSlug(v.slugText[:0], v.Path)
	case isRoot(v.Path):
		return v.lead(Rooted, v.domain.RootURL, apierr.NotFound)
	default:
		v.slugText, ok = appendOwnSlug(v.slugText[:0], v.Path)
	}
	if !ok {
		return v.missing()
	}
	v.key = appendKey(v.key[:0], v.domain, v.slugText)
	return false, nil
}

func isRoot(path []byte) bool { return len(path) == 0 || len(path) == 1 && path[0] == '/' }

// missing answers for what is not there, as far as the visitor may know.
func (v *Visit) missing() (bool, error) {
	if v.domain == nil {
		return false, apierr.New(apierr.NotFound)
	}
	return v.lead(Missing, v.domain.NotFoundURL, apierr.NotFound)
}

// lead sends the visitor to an address that is no target of a link, or rejects the request
// where there is none, or none that may be followed.
func (v *Visit) lead(kind Kind, address string, otherwise apierr.Code) (bool, error) {
	if address == "" || v.index.BlockedURL(address) {
		return false, apierr.New(otherwise)
	}
	v.room = append(v.room[:0], address...)
	v.Response = Response{Kind: kind, Status: http.StatusFound, Location: v.room}
	if v.Posted {
		v.Response.Status = http.StatusSeeOther // with GET, and without the password
	}
	return true, nil
}
