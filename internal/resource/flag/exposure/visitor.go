package exposure

import (
	"strings"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/tenant/website"
)

// Nobody is the user id of those who have none.
const Nobody = "anonymous"

// anonymousPrefix begins the ids that our tracker and older ones give to visitors.
const anonymousPrefix = "anon_"

// maxIDLen is the longest id, in code points; no event has a longer one.
const maxIDLen = 256

// kind is what somebody is known by.
type kind uint8

const (
	nobody    kind = iota
	user           // the caller's own id
	address        // an e-mail address
	anonymous      // a visitor's id
)

// visitor returns whom an exposure is of: the user, else whom the e-mail address names, else
// the visitor.
func (e *Exposure) visitor() (id string, is kind) {
	switch {
	case strings.HasPrefix(e.UserID, anonymousPrefix):
		id, is = e.UserID, anonymous
	case e.UserID != "" && e.UserID != Nobody:
		id, is = e.UserID, user
	case e.Email != "":
		id, is = e.Email, address
	case e.AnonymousID != "" && e.AnonymousID != Nobody:
		id, is = e.AnonymousID, anonymous
	}
	if is != nobody && event.IsEmail(id) {
		is = address
	}
	if !utf8.ValidString(id) || len(id) > maxIDLen && utf8.RuneCountInString(id) > maxIDLen {
		return "", nobody
	}
	return id, is
}

// noHash is the country whose visitors' ids a website that says "auto" keeps as they are.
const noHash = "US"

// hides reports whether a website keeps the ids of anonymous visitors as hashes.
func hides(w *website.Website, country string) bool {
	setting, _ := event.ParseAnonymize(w.AnonymizeVisitorIDs)
	if setting == event.AnonymizeAuto && country == noHash {
		return false
	}
	return event.HidesVisitor(event.AnonymizeUnset, setting)
}
