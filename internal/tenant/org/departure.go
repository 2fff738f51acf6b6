package org

import (
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
)

// MaxNamedKeys is how many keys of somebody who goes are named, in the response and in
// the audit.
const MaxNamedKeys = 100

// Departure is how a member goes.
type Departure struct {
	OrganizationID, UserID string
	// RevokeKeys revokes the API keys that the member made, with the membership; otherwise
	// they go on working.
	RevokeKeys bool
}

// MadeKeys are the API keys of an organization that somebody made: those that were
// neither revoked nor deleted before, expired ones among them.
type MadeKeys struct {
	Keys    []*apikey.Key // the oldest MaxNamedKeys, as they are now
	Total   int
	Revoked bool // all of them, just now
}

// Changes adds to what the audit says about the departure which keys go on working,
// or do not any more.
func (m *MadeKeys) Changes(changes map[string]audit.Change) map[string]audit.Change {
	if m.Total == 0 {
		return changes
	}
	ids := make([]string, len(m.Keys))
	for i, k := range m.Keys {
		ids[i] = k.ID
	}
	name := "keptApiKeys"
	if m.Revoked {
		name = "revokedApiKeys"
	}
	changes[name] = audit.Change{To: ids}
	if m.Total > len(ids) {
		changes[name+"Total"] = audit.Change{To: m.Total}
	}
	return changes
}
