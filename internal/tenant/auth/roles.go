package auth

import (
	"fmt"
	"slices"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/org"
)

// Class is a class of operations that the same callers may call.
type Class string

// The classes.
const (
	Public             Class = "public"
	Account            Class = "account"
	ViewData           Class = "view data"
	ViewWebsites       Class = "view websites"
	ReadWebsites       Class = "read websites' settings"
	AddWebsites        Class = "add websites"
	ManageWebsites     Class = "manage websites"
	ViewOrganization   Class = "view the organization"
	ManageOrganization Class = "manage the organization"
	ViewMembers        Class = "view members"
	ManageMembers      Class = "manage members"
	OwnOrganization    Class = "own the organization"
	EraseVisitors      Class = "erase visitors"
	ViewLinks          Class = "view links"
	ManageLinks        Class = "manage links"
	ViewFlags          Class = "view flags"
	ManageFlags        Class = "manage flags"
	ManageKeys         Class = "manage API keys"
	ReadAudit          Class = "read the audit"
)

// ClassRow says who may call the operations of a class.
type ClassRow struct {
	Class Class
	// Role is the least role of a signed-in person in the organization; empty for
	// Public and Account, which act in none.
	Role org.Role
	// Scopes are those of which an API key needs one; without any, no key may call.
	Scopes []Scope
	// Global is set where a key of a single website may not call.
	Global bool
	Means  string
}

// Classes is the table of who may do what: the only place that says it, and what
// the tests of access hold every operation against.
var Classes = []ClassRow{
	{Public, "", nil, false, "everyone, without a credential"},
	{Account, "", nil, false, "your own account and sessions"},
	{ViewData, org.RoleViewer, []Scope{ScopeReadData}, false, "query analytics"},
	{ViewWebsites, org.RoleViewer, []Scope{ScopeReadData, ScopeManageWebsites}, false, "list websites"},
	{
		ReadWebsites, org.RoleViewer,
		[]Scope{ScopeManageWebsites},
		false, "read the settings of websites, such as the allowed addresses",
	},
	{AddWebsites, org.RoleEditor, []Scope{ScopeManageWebsites}, true, "create websites"},
	{ManageWebsites, org.RoleEditor, []Scope{ScopeManageWebsites}, false, "change websites"},
	{ViewOrganization, org.RoleViewer, []Scope{ScopeManageConfig}, true, "read the organization's settings and usage"},
	{ManageOrganization, org.RoleAdmin, []Scope{ScopeManageConfig}, true, "change the organization's settings"},
	{ViewMembers, org.RoleViewer, nil, false, "list the members of the organization"},
	{ManageMembers, org.RoleAdmin, nil, false, "invite and remove people, change roles"},
	{OwnOrganization, org.RoleOwner, nil, false, "transfer or delete the organization, and move websites"},
	{
		EraseVisitors, org.RoleAdmin, []Scope{ScopeManageWebsites}, false, "erase the data of a visitor and follow the " +
			"progress",
	},
	{ViewLinks, org.RoleViewer, []Scope{ScopeReadLinks}, true, "read short links and their folders"},
	{ManageLinks, org.RoleEditor, []Scope{ScopeWriteLinks}, true, "change short links and their folders"},
	{ViewFlags, org.RoleViewer, []Scope{ScopeManageFlags}, false, "read feature flags and segments"},
	{ManageFlags, org.RoleEditor, []Scope{ScopeManageFlags}, false, "change feature flags and segments"},
	{ManageKeys, org.RoleAdmin, nil, false, "create, rotate and revoke API keys"},
	{ReadAudit, org.RoleAdmin, nil, false, "read the audit"},
}

// Roles are the roles from the least powerful to the most.
var Roles = []org.Role{org.RoleViewer, org.RoleEditor, org.RoleAdmin, org.RoleOwner}

// scopesOf is what a role is worth where a scope is asked for: on the query
// routes, and at most in a key that a person of the role makes.
var scopesOf = map[org.Role]ScopeSet{
	org.RoleViewer: setOf(ScopeReadData, ScopeReadLinks, ScopeReadMonitors, ScopeReadStatusPages),
	org.RoleEditor: AllScopes() &^ setOf(ScopeManageConfig),
	org.RoleAdmin:  AllScopes(),
	org.RoleOwner:  AllScopes(),
}

// ScopesOf returns the scopes that a role is worth; none for an unknown role.
func ScopesOf(role org.Role) ScopeSet { return scopesOf[role] }

func setOf(scopes ...Scope) ScopeSet {
	var set ScopeSet
	for _, s := range scopes {
		set |= 1 << index(s)
	}
	return set
}

// Row returns the row of a class; nil for a class that is in no row, which
// nobody may call.
func (c Class) Row() *ClassRow {
	for i := range Classes {
		if Classes[i].Class == c {
			return &Classes[i]
		}
	}
	return nil
}

// AtLeast reports whether a role includes the powers of another. An unknown role
// includes none.
func AtLeast(role, least org.Role) bool {
	i := slices.Index(Roles, role)
	return i >= 0 && i >= slices.Index(Roles, least)
}

// Admit says whether a caller may call operations of a class; nil when it may. A
// session stands in an organization already where the class acts in one: see
// Enter. Otherwise it is an AuthRequired error for nobody, an AccessDenied error
// for a key where no key or none of a single website may call, and a Forbidden
// error for a missing scope or a role too low.
func Admit(p Principal, class Class) error {
	row := class.Row()
	switch {
	case row == nil:
		return apierr.Wrap(apierr.AccessDenied, fmt.Errorf("unknown class %q", class))
	case class == Public:
		return nil
	case p.Kind == KindAnonymous:
		return apierr.New(apierr.AuthRequired)
	case p.Kind == KindKey:
		return admitKey(p, row)
	case row.Role != "" && !AtLeast(p.Role, row.Role):
		return apierr.Wrap(apierr.Forbidden, fmt.Errorf("user %s has the role %q; %s is "+
			"required", p.UserID, p.Role, row.Role))
	}
	return nil
}

func admitKey(p Principal, row *ClassRow) error {
	switch {
	case len(row.Scopes) == 0:
		return &apierr.Error{
			Code: apierr.AccessDenied, Message: "API keys cannot call this operation; sign in instead",
			Err: fmt.Errorf("key %s must not call operations of class %s", p.KeyID, row.Class),
		}
	case !slices.ContainsFunc(row.Scopes, p.Has):
		return apierr.Wrap(apierr.Forbidden, fmt.Errorf("key %s lacks the scopes %v", p.KeyID, row.Scopes))
	case row.Global && !p.Global():
		return apierr.Wrap(apierr.AccessDenied, fmt.Errorf("key %s is limited to one website", p.KeyID))
	}
	return nil
}
