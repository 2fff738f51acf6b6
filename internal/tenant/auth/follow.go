package auth

import (
	"encoding/hex"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/website"
)

// Apply implements control.Cache: what a change makes wrong is read again by
// whoever asks next. What is held of the change's version or a later one stays,
// so that change events which come late, or twice, cost nothing; and they bring nothing
// back, since what is read is the store's. Versions come again only after a
// Forget.
func (a *Authenticator) Apply(c control.Change) {
	switch c.Kind {
	case control.Key:
		for _, ref := range c.Refs {
			if hash, ok := hashOf(ref); ok {
				a.keys.DropUnless(hash, func(held *credential) bool { return held.key.Version >= c.Version })
			}
		}
	case control.Website:
		current := func(held *website.Website) bool { return held.Version >= c.Version }
		for _, ref := range c.Refs {
			for _, sites := range a.sites() {
				sites.DropUnless(ref, current)
			}
		}
		// What is deleted is among those that left. Other changes leave them as they are: they
		// could not be read again while the store is away.
		a.forgetMoves(c.OrganizationID, func(held *website.Moves) bool {
			return slices.Contains(held.Left, c.ID) == c.Gone
		})
	case control.Organization:
		// At its end its keys and websites are of no use, also while the store cannot be
		// asked. There may be too many of them to be named.
		if c.Gone {
			a.end(c.ID)
			return
		}
		a.forgetMoves(c.ID, func(*website.Moves) bool { return false })
	default:
	}
}

func (a *Authenticator) forgetMoves(organizationID string, current func(*website.Moves) bool) {
	if a.moves != nil {
		a.moves.DropUnless(organizationID, current)
	}
}

// end has what an organization has be read again before it is used.
func (a *Authenticator) end(organizationID string) {
	its := func(w *website.Website) bool { return w.OrganizationID == organizationID }
	a.keys.End(func(held *credential) bool { return held.key.OrganizationID == organizationID })
	for _, sites := range a.sites() {
		sites.End(its)
	}
}

// Forget implements control.Cache.
func (a *Authenticator) Forget() {
	a.keys.Forget()
	for _, sites := range a.sites() {
		sites.Forget()
	}
	if a.moves != nil {
		a.moves.Forget()
	}
}

// Trust implements control.Cache.
func (a *Authenticator) Trust(until time.Time) {
	a.keys.Trust(until)
	for _, sites := range a.sites() {
		sites.Trust(until)
	}
	if a.moves != nil {
		a.moves.Trust(until)
	}
}

// hashOf reads the name of a key in a change.
func hashOf(ref string) (hash [apikey.HashLen]byte, ok bool) {
	if len(ref) != hex.EncodedLen(len(hash)) {
		return hash, false
	}
	_, err := hex.Decode(hash[:], []byte(ref))
	return hash, err == nil
}
