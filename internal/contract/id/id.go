// Package id makes the names of records: a short prefix that says what the
// record is, an underscore, and a ULID, such as web_01J9ZC5Q3V8M4T2K7R6N0PBXYD.
//
// Ids sort by the millisecond in which they were made, also as text, and cannot
// be guessed. The package refuses to promise an order within one millisecond.
package id

import (
	"crypto/rand"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// New returns a fresh id with the given prefix, such as "web". It is safe for
// concurrent use.
func New(prefix string) string {
	var u ulid.ULID
	// The time fits until the year 10889; a later one leaves it at zero.
	_ = u.SetTime(ulid.Timestamp(time.Now()))
	rand.Read(u[6:]) // never fails
	return prefix + "_" + u.String()
}

// Valid reports whether s is an id with the given prefix in the one spelling
// that New uses.
func Valid(prefix, s string) bool {
	rest, ok := strings.CutPrefix(s, prefix+"_")
	if !ok {
		return false
	}
	u, err := ulid.ParseStrict(rest)
	return err == nil && u.String() == rest
}
