package link

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/millrace/millrace/internal/contract/apierr"
)

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

// CheckOwnSlug returns the Validation error of a slug that may not be chosen on a domain of
// an organization's own. It is to be one of NormSlug.
func CheckOwnSlug(slug string) error {
	parts := strings.Split(slug, "/")
	switch {
	case slug == "" || len(slug) > MaxOwnSlugLen || !utf8.ValidString(slug):
		return apierr.Invalid("slug", "invalid_slug", "slug must have 1 to 190 bytes of UTF-8")
	case len(parts) > MaxOwnSlugParts || slices.ContainsFunc(parts, notPart):
		return apierr.Invalid("slug", "invalid_slug",
			"slug must have up to 8 parts of letters, digits and -_.~ between slashes, none of them . or ..")
	case slug[0] == '_':
		return apierr.Invalid("slug", "invalid_slug", "slug must not begin with an underscore")
	case slices.Contains(ownReserved, strings.ToLower(slug)), strings.EqualFold(parts[0], wellKnown):
		return apierr.Invalid("slug", "reserved", "slug is a reserved word")
	}
	return nil
}

func notPart(part string) bool {
	return part == "" || part == "." || part == ".." || strings.ContainsFunc(part, notInPart)
}

func notInPart(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.~", r)
}
