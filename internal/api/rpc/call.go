package rpc

import (
	"net/netip"
	"time"

	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/org"
)

// Call is one call of an operation, from a caller whom its class admits.
type Call struct {
	// Principal is the caller, in the organization of this call: a key's own, or for a
	// session the body's organizationId, else the user's only one; in none for operations
	// that act in none. It is anonymous for public operations without a credential.
	Principal auth.Principal
	// User and Memberships are the person of a session and the organizations that they
	// belong to, oldest membership first; nil for other callers.
	User        *org.User
	Memberships []org.Member
	// By is the caller as the audit remembers it; the store's mutating methods
	// take it.
	By audit.By
	// Client is the caller's address.
	Client    netip.Addr
	RequestID string
	// SessionToken is the cookie's value as it was sent; empty without one.
	SessionToken string
	// DeviceToken is the value of the device's cookie likewise.
	DeviceToken string

	session, device *cookie // to set with the response; nil for none
	// seen turns an error of one of several records into what callers see of it, and logs
	// what they do not.
	seen func(error) error
}

// cookie is one to be set, or removed when the token is empty.
type cookie struct {
	token    string
	lifetime time.Duration
}

// OrganizationID is the organization that the call acts in.
func (c *Call) OrganizationID() string { return c.Principal.OrganizationID }

// StartSession has the response set the session's cookie, for as long as the
// session may last at most. A failure sets none.
func (c *Call) StartSession(token string, lifetime time.Duration) {
	c.session = &cookie{token, lifetime}
}

// EndSession has the response remove the session's cookie.
func (c *Call) EndSession() { c.session = &cookie{} }

// KeepDevice has the response set the device's cookie, for as long as an account knows a
// device. A failure sets none.
func (c *Call) KeepDevice(token string, lifetime time.Duration) {
	c.device = &cookie{token, lifetime}
}

// ForgetDevice has the response remove the device's cookie.
func (c *Call) ForgetDevice() { c.device = &cookie{} }

// InOrganization is embedded by the inputs of all operations that act in an
// organization.
type InOrganization struct {
	OrganizationID string `json:"organizationId,omitempty" maxLength:"30" doc:"Id of the organization to act in. Required for users with several organizations; without it they get a 400 that lists the organizations."`
}

// ID names a record in an input.
type ID struct {
	ID string `json:"id" minLength:"1" maxLength:"64" doc:"Id of the record."`
}

// Version is embedded by the inputs of updates.
type Version struct {
	Version int64 `json:"version,omitempty" minimum:"1" maximum:"9007199254740991" doc:"Version that the change is based on. Returns 409 if the record has another version by now. If absent, the change applies to any version."`
}
