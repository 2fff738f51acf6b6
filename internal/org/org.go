// Package org holds organizations and the people in them. An organization is the
// tenant: everything else belongs to exactly one.
package org

import "time"

// Organization is one tenant.
type Organization struct {
	ID        string // "org_" + ULID
	Name      string
	CreatedAt time.Time
}

// Role is what a member may do in an organization.
type Role string

// The roles, most powerful first.
const (
	RoleOwner  Role = "owner"
	RoleAdmin  Role = "admin"
	RoleEditor Role = "editor"
	RoleViewer Role = "viewer"
)

// User is a person who signs in.
type User struct {
	ID           string // "usr_" + ULID
	Email        string // lower case
	Name         string
	PasswordHash string // argon2id in PHC form
	CreatedAt    time.Time
}

// Member is a user's place in an organization.
type Member struct {
	OrganizationID string
	UserID         string
	Role           Role
	CreatedAt      time.Time
}
