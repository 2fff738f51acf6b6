package link

import (
	"crypto/rand"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/contract/apierr"
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

// CheckSlug returns the Validation error of a slug that may not be chosen on the shared
// host.
func CheckSlug(slug string) error {
	if len(slug) < MinSlugLen || len(slug) > MaxSlugLen || strings.ContainsFunc(slug, notInSlug) {
		return apierr.Invalid("slug", "invalid_slug", "slug must have 3 to 50 letters, digits, hyphens and underscores")
	}
	if slices.Contains(reserved, SlugKey(slug)) {
		return apierr.Invalid("slug", "reserved", "slug must not be a reserved word")
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
