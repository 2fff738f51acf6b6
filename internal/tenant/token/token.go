// Package token makes the secrets that are handed out once and prove something
// by being known: sessions, invitations and permissions to set a new password.
//
// It promises 256 bits from the system's random source, and that what is kept of
// a token does not open what the token opens. It refuses to say what a token is
// good for or for how long.
package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// Len is how many characters a token has.
const Len = 43

// HashLen is the length of a token's hash, in bytes.
const HashLen = sha256.Size

// Hash is what is kept of a token.
type Hash [HashLen]byte

// New returns a fresh token, of letters, digits, hyphens and underscores, and its
// hash.
func New() (token string, hash Hash) {
	var secret [32]byte
	rand.Read(secret[:]) // never fails
	token = base64.RawURLEncoding.EncodeToString(secret[:])
	return token, HashOf(token)
}

// HashOf returns the hash of a token. The secret is random and long, so that a
// fast hash is enough.
func HashOf(token string) Hash { return sha256.Sum256([]byte(token)) }

// WellFormed reports whether text may be a token, so that other texts cost no
// look-up.
func WellFormed(text string) bool {
	if len(text) != Len {
		return false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil && len(b) == 32
}
