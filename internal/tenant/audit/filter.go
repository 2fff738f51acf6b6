package audit

import "time"

// Filter says which entries are wanted; a zero field wants all, but of the organization.
type Filter struct {
	// OrganizationID is the organization that the entries are about. Without it the
	// entries are wanted that belong to none, such as those of a person who belongs to
	// none: who forgets it sees no tenant's.
	OrganizationID string
	// EveryOrganization is for the operator, who sees all entries.
	EveryOrganization bool
	ResourceType      string // such as "apikey"
	ResourceID        string
	ActorID           string
	Action            string // such as "apikey.rotated"
	// From is the earliest time and To the first one after it.
	From, To time.Time
	// Before is the id of the last entry of the page before.
	Before string
	// Limit is the most entries; 0 means 50.
	Limit int
}
