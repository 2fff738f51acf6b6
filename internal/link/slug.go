package link

import (
	"crypto/rand"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/millrace/millrace/internal/fault"
)

// Lengths of a slug on the host that all organizations share, in bytes.
const (
	MinSlugLen       = 3
	MaxSlugLen       = 50
	generatedSlugLen = 8
)

// slugLetters are what generated slugs are made of: no vowels, so that they spell
// nothing, and nothing that looks like something else. 28 of them at 8 places are 38 bits.
const slugLetters = "23456789bcdfghjkmnpqrstvwxyz"

// reserved are slugs that nobody may choose, in lower case: what the host answers itself
// now or may one day, and what browsers and crawlers ask every host for.
var reserved = strings.Fields(`
	about abuse account accounts admin api app apps assets auth batch billing blog click clicks config contact dashboard
	docs domain domains download email error errors events favicon feedback graphql health healthz help home hooks
	identify imprint index ingest invite link links livez login logout mail metrics millrace new null oauth openapi
	password pixel privacy public qr readyz register report reset robots rpc security session settings signin signout
	signup sitemap static stats status support terms test track tracker undefined unsubscribe user users vitals
	webhook webhooks well-known www`)

// SlugKey is what a slug is matched by: without case.
func SlugKey(slug string) string { return strings.ToLower(slug) }

// KeyOn is what a slug is found by on a domain: SlugKey on the shared host, whose id is
// empty; else the domain's id, a slash, and the slug, without case unless the domain keeps it.
func KeyOn(domainID string, caseSensitive bool, slug string) string {
	if !caseSensitive {
		slug = SlugKey(slug)
	}
	if domainID == "" {
		return slug
	}
	return domainID + "/" + slug
}

// Limits of a slug on an organization's own domain.
const (
	MaxOwnSlugLen   = 190 // bytes, in NFC
	MaxOwnSlugParts = 8   // between slashes
)

// ownReserved are what the host itself is asked for on every domain, in lower case: files
// that browsers and crawlers look for, and its own health. What is below wellKnown is too.
var ownReserved = strings.Fields("health robots.txt favicon.ico " + wellKnown)

const wellKnown = ".well-known"

// NormSlug returns a slug of an organization's own domain as it is kept: in NFC, so that what
// looks alike is alike.
func NormSlug(slug string) string { return norm.NFC.String(slug) }

// CheckOwnSlug returns the Validation fault of a slug that may not be chosen on a domain of
// an organization's own. It is to be one of NormSlug.
func CheckOwnSlug(slug string) error {
	parts := strings.Split(slug, "/")
	switch {
	case slug == "" || len(slug) > MaxOwnSlugLen || !utf8.ValidString(slug):
		return fault.Invalid("slug", "invalid_slug", "slug must have 1 to 190 bytes of UTF-8")
	case len(parts) > MaxOwnSlugParts || slices.ContainsFunc(parts, notPart):
		return fault.Invalid("slug", "invalid_slug", "slug must have up to 8 parts of letters, digits and -_.~ between slashes, none of them . or ..")
	case slug[0] == '_':
		return fault.Invalid("slug", "invalid_slug", "slug must not begin with an underscore")
	case slices.Contains(ownReserved, strings.ToLower(slug)), strings.EqualFold(parts[0], wellKnown):
		return fault.Invalid("slug", "reserved", "slug is a reserved word")
	}
	return nil
}

func notPart(part string) bool {
	return part == "" || part == "." || part == ".." || strings.ContainsFunc(part, notInPart)
}

func notInPart(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.~", r)
}

// CheckSlug returns the Validation fault of a slug that may not be chosen on the shared
// host.
func CheckSlug(slug string) error {
	if len(slug) < MinSlugLen || len(slug) > MaxSlugLen || strings.ContainsFunc(slug, notInSlug) {
		return fault.Invalid("slug", "invalid_slug", "slug must have 3 to 50 letters, digits, hyphens and underscores")
	}
	if slices.Contains(reserved, SlugKey(slug)) {
		return fault.Invalid("slug", "reserved", "slug is a reserved word")
	}
	return nil
}

func notInSlug(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

// newSlug returns a random slug.
func newSlug() string {
	// The largest multiple of the number of letters that a byte holds; bytes from there
	// on are drawn again, because taking them modulo it would favour the first letters.
	const fair = byte(256 / len(slugLetters) * len(slugLetters))
	slug := make([]byte, 0, generatedSlugLen)
	var buf [2 * generatedSlugLen]byte
	for len(slug) < generatedSlugLen {
		rand.Read(buf[:]) // never fails: crypto/rand ends the program instead
		for _, c := range buf {
			if len(slug) < generatedSlugLen && c < fair {
				slug = append(slug, slugLetters[int(c)%len(slugLetters)])
			}
		}
	}
	return string(slug)
}
