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
	case slug == "" || len(slug) > MaxOwnSlugLen || !utf8.ValidString(slug) || !norm.NFC.IsNormalString(slug):
		return apierr.Invalid("slug", "invalid_slug", "slug must have 1 to 190 bytes of UTF-8")
	case len(parts) > MaxOwnSlugParts || slices.ContainsFunc(parts, notPart):
		return apierr.Invalid("slug", "invalid_slug",
			"slug must have at most 8 segments of letters, combining marks, digits and -_.~, and no segment may be . or ..")
	case slug[0] == '_':
		return apierr.Invalid("slug", "invalid_slug", "slug must not start with an underscore")
	case slices.Contains(ownReserved, strings.ToLower(slug)), strings.EqualFold(parts[0], wellKnown):
		return apierr.Invalid("slug", "reserved", "slug must not be a reserved word")
	}
	return nil
}

func notPart(part string) bool {
	first, _ := utf8.DecodeRuneInString(part)
	return part == "" || part == "." || part == ".." || unicode.IsMark(first) || strings.ContainsFunc(part, notInPart)
}

func notInPart(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !isMark(r) && !strings.ContainsRune("-_.~", r)
}

// isMark reports whether a character is one with which words are written, such as the vowels of
// Devanagari. It is none that cannot be seen: two slugs would look alike.
func isMark(r rune) bool {
	return unicode.IsMark(r) && !unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
