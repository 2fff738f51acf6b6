package managed

import (
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/tenant/audit"
)

// Action is what was done to a record, as the audit calls it.
type Action string

// The actions that most nouns have.
const (
	Created  Action = "created"
	Updated  Action = "updated"
	Deleted  Action = "deleted"
	Restored Action = "restored"
)

// Kept is a record of a noun: a pointer to a struct that embeds Record. A nil one stands
// for a record that is not there.
type Kept interface {
	comparable
	Common() *Record
}

// Noun says how a kind of record is told of.
type Noun[R Kept] struct {
	Type string // what the audit calls it, such as "apikey"
	// Kind is what change events call it; empty for records that no process remembers,
	// of which nothing is told.
	Kind control.Kind
	// View returns the fields that the audit compares, by their names on the wire. The
	// values of those named in Secret are masked.
	View   func(R) map[string]any
	Secret []string
	// Refs are the names under which caches hold a record; "" is none.
	Refs func(R) []string
}

// Entry is how the audit remembers what was done: was is nil for a new record.
func (n *Noun[R]) Entry(by audit.By, action Action, was, is R) audit.Entry {
	r := is.Common()
	return audit.New(by, r.OrganizationID, n.Type, string(action), r.UpdatedAt).Of(r.ID, r.Name).With(n.Diff(was, is))
}

// Diff returns the fields that differ, for the audit.
func (n *Noun[R]) Diff(was, is R) map[string]audit.Change {
	return audit.Diff(n.view(was), n.view(is), n.Secret...)
}

func (n *Noun[R]) view(r R) map[string]any {
	var none R
	if r == none {
		return nil
	}
	return n.View(r)
}

// Event is what other processes are told: was is nil for a new record. It names the
// record by what it was called before and after the change.
func (n *Noun[R]) Event(was, is R) control.Change {
	r := is.Common()
	c := control.Change{
		Kind: n.Kind, ID: r.ID, OrganizationID: r.OrganizationID, Version: r.Version, Gone: r.Deleted(), At: r.UpdatedAt,
	}
	var none R
	seen := map[string]bool{"": true}
	for _, version := range []R{was, is} {
		if version == none {
			continue
		}
		for _, ref := range n.Refs(version) {
			if !seen[ref] {
				seen[ref] = true
				c.Refs = append(c.Refs, ref)
			}
		}
	}
	return c
}
