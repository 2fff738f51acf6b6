package event

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// ParseAnonymize reads a website's setting: "true", "false" or "auto"; "" is
// unset.
func ParseAnonymize(s string) (a Anonymize, ok bool) {
	switch s {
	case "":
		return AnonymizeUnset, true
	case "true":
		return AnonymizeTrue, true
	case "false":
		return AnonymizeFalse, true
	case "auto":
		return AnonymizeAuto, true
	}
	return AnonymizeUnset, false
}

// HidesVisitor reports whether a visitor id is stored hashed: the event's choice
// counts before the website's, and without either it is. AnonymizeAuto depends on
// the visitor's country; as long as nobody knows that, it hashes.
func HidesVisitor(event, website Anonymize) bool {
	if event == AnonymizeUnset {
		event = website
	}
	return event != AnonymizeFalse && event != AnonymizeShown
}

// SaltGrace is for how long after the end of its UTC day a salt is kept: edges
// whose clocks are behind by less than that still hash with it. After that
// nobody can compute again which visitor a stored id belongs to.
const SaltGrace = 10 * time.Minute

// HashedVisitorLen is the length of a hashed visitor id.
const HashedVisitorLen = 2 * sha256.Size

// AppendHashedVisitor appends the hexadecimal SHA-256 of id followed by salt, in
// lower case. An empty id stays empty: no visitor is not a visitor. The salt is
// that of the UTC day of receipt, so that a visitor is recognised within a day
// and not beyond.
func AppendHashedVisitor(dst, id, salt []byte) []byte {
	if len(id) == 0 {
		return dst
	}
	from := len(dst)
	dst = append(append(dst, id...), salt...) // the room behind dst serves as scratch space
	sum := sha256.Sum256(dst[from:])
	return hex.AppendEncode(dst[:from], sum[:])
}

// IsEmail reports whether an id of a user is taken for an e-mail address: it has a @ that is
// neither its first nor its last character.
func IsEmail(id string) bool {
	at := strings.IndexByte(id, '@')
	return at > 0 && at < len(id)-1
}

// hashedEmailPrefix begins what stands for an e-mail address.
const hashedEmailPrefix = "email:"

// AppendHashedEmail appends what stands for an e-mail address among the users of an owner:
// email: and the hexadecimal SHA-256 of the owner's id, a zero byte and the address, its
// letters from A to Z in lower case. The owner is in it so that nobody finds an address in
// a table of hashes, or one user of two owners; whoever guesses an address can tell that it
// is the one.
func AppendHashedEmail(dst, owner, email []byte) []byte {
	dst = append(dst, hashedEmailPrefix...)
	from := len(dst)
	dst = append(append(dst, owner...), 0) // the room behind dst serves as scratch space
	for _, c := range email {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	sum := sha256.Sum256(dst[from:])
	return hex.AppendEncode(dst[:from], sum[:])
}
