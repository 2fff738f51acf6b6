package link

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/fault"
)

// Bounds of a slug on a domain of an organization's own.
const (
	MaxOwnSlugLen   = 190 // bytes, normalized (NFC)
	MaxOwnSlugParts = 8   // between slashes
)

// What a domain's host answers itself, or may one day.
var ownReserved = []string{"robots.txt", "favicon.ico"}

const wellKnown = ".well-known"

// CheckOwnSlug returns the Validation fault of a slug, in NFC, that no link of a domain has.
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
