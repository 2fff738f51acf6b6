package org

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Role is what a member may do in an organization.
type Role string

// The roles, most powerful first.
const (
	RoleOwner  Role = "owner"
	RoleAdmin  Role = "admin"
	RoleEditor Role = "editor"
	RoleViewer Role = "viewer"
)

// Roles lists every role, most powerful first.
var Roles = []Role{RoleOwner, RoleAdmin, RoleEditor, RoleViewer}

// ParseRole returns the role of that name, or a Validation error.
func ParseRole(text string) (Role, error) {
	if i := slices.Index(Roles, Role(text)); i >= 0 {
		return Roles[i], nil
	}
	return "", apierr.Invalid("role", "invalid_value", "role must be owner, admin, editor or viewer")
}

// Invites reports whether a member of the role may invite somebody to be one of another
// role. Invitations that their inviter could not issue any more are void.
func (r Role) Invites(other Role) bool {
	return (r == RoleOwner || r == RoleAdmin) && MayChange(r, "", other) == nil
}

// MayChange says whether a member of the role actor may turn one of the role from
// into one of the role to; an empty from stands for somebody who comes, an empty
// to for somebody who goes. Only owners make, change and remove owners; anybody
// else is told so by a Forbidden error.
func MayChange(actor, from, to Role) error {
	if actor != RoleOwner && (from == RoleOwner || to == RoleOwner) {
		return &apierr.Error{Code: apierr.Forbidden, Message: "Only owners can add, change or remove owners"}
	}
	return nil
}

// maxNamed is how many organizations an error names.
const maxNamed = 5

// NeedsOwner returns the Conflict error for somebody who goes while organizations need
// them: it names them, or the first of many.
func NeedsOwner(memberships []Membership) error {
	var names []string
	for _, p := range memberships[:min(len(memberships), maxNamed)] {
		names = append(names, fmt.Sprintf("%s (%s)", p.Organization, p.OrganizationID))
	}
	if more := len(memberships) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return &apierr.Error{
		Code: apierr.Conflict,
		Message: "You are the only owner of " + strings.Join(names, ", ") +
			", and these have other members or websites: make another member an owner or remove them first",
	}
}
