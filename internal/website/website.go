// Package website holds the sites and apps whose events are collected.
package website

import (
	"errors"
	"time"
)

// ErrNotFound is returned by stores for a website that does not exist.
var ErrNotFound = errors.New("website not found")

// Website is one source of events. Its ID is private and stable; its ClientID is
// the public name that browsers carry. They are equal at creation, and the
// client id can be rotated apart from the id.
type Website struct {
	ID             string // "web_" + ULID
	OrganizationID string // empty when the organization is gone: the website is not usable
	ClientID       string
	// OldClientID is the client id before the last rotation; it is accepted
	// until OldClientIDUntil. Empty when there is none.
	OldClientID      string
	OldClientIDUntil time.Time
	Name             string
	Domain           string // lower-case host name without "www."
	// AnonymizeVisitorIDs is the default for events that do not say: "true",
	// "false" or "auto". Empty means "true".
	AnonymizeVisitorIDs string
	// AllowedOrigins, where not empty, are the only hosts from which the client
	// id is accepted: exact names or "*.example.com".
	AllowedOrigins []string
	// AllowedIPs, where not empty, are the only addresses from which the client
	// id is accepted: addresses or CIDR ranges.
	AllowedIPs []string
	Public     bool // its overview may be queried without a credential
	CreatedAt  time.Time
	UpdatedAt  time.Time
}
