package management

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/platform/cidr"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/displayname"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

// APIKeys are the operations on API keys. No API key may call them.
type APIKeys struct {
	Service  *apikey.Service
	Websites *website.Service
}

// Resource returns the rows.
func (s *APIKeys) Resource() rpc.Resource {
	return rpc.Resource{
		Name: "apiKeys", Summary: "API keys for programs. Only owners and admins who are signed in can manage them.",
		Failures: []rpc.Failure{
			{Err: apikey.ErrNotFound, Code: apierr.NotFound, Message: "API key not found"},
			{Err: apikey.ErrRevoked, Code: apierr.Conflict, Message: "The API key is revoked and cannot be changed"},
			{Err: managed.ErrChanged, Code: apierr.Conflict, Message: "The API key has changed since it was read"},
			{Err: website.ErrNotFound, Code: apierr.NotFound, Message: "Website not found"},
			{Err: org.ErrNotFound, Code: apierr.NotFound, Message: "Organization not found"},
		},
		Operations: []rpc.Operation{
			rpc.Op(rpc.Spec{
				Name: "create", Summary: "Create an API key", Class: auth.ManageKeys, Creates: true, Audit: "apikey.created",
				Detail: "Returns the secret. The secret is shown only once and cannot be retrieved later.",
			}, s.create),
			rpc.Op(rpc.Spec{
				Name:    "list",
				Summary: "List API keys",
				Class:   auth.ManageKeys,
				Detail:  "Includes revoked and expired keys, but not deleted ones.",
			}, s.list),
			rpc.Op(
				rpc.Spec{
					Name: "get", Summary: "Get an API key", Class: auth.ManageKeys,
					Detail: "Returns the key without its secret.",
				}, s.get),
			rpc.Op(rpc.Spec{
				Name: "update", Summary: "Update an API key", Class: auth.ManageKeys, Audit: "apikey.updated",
				Detail: "Absent fields keep their values; lists are replaced as a whole. The website that a key is limited to " +
					"cannot be changed: create another key instead.",
			}, s.update),
			rpc.Op(rpc.Spec{
				Name: "rotate", Summary: "Rotate the secret of an API key", Class: auth.ManageKeys, Audit: "apikey.rotated",
				Detail: "Returns the new secret. The old secret stops working at once, or after a grace period. A secret from " +
					"before that stops working at once in any case.",
			}, s.rotate),
			rpc.Op(rpc.Spec{
				Name: "revoke", Summary: "Revoke an API key", Class: auth.ManageKeys, Audit: "apikey.revoked",
				Detail: "Every process rejects the key within a second. This cannot be undone.",
			}, s.revoke),
			rpc.Op(rpc.Spec{
				Name: "delete", Summary: "Delete an API key", Class: auth.ManageKeys, Audit: "apikey.deleted",
				Detail: "Every process rejects the key within a second, and lists no longer include it. The audit keeps its " +
					"entries.",
			}, s.delete),
		},
	}
}

// KeyRef names a key in an input.
type KeyRef struct {
	rpc.InOrganization
	rpc.ID
}

// KeyChange is the input of changes without settings.
type KeyChange struct {
	KeyRef
	rpc.Version
}

type keyCreate struct {
	rpc.InOrganization

	Name           string              `json:"name" minLength:"1" maxLength:"100" doc:"Name of the key."`
	Scopes         []string            `json:"scopes" minItems:"1" maxItems:"50" maxLength:"64" doc:"Scopes of the key; see the table of scopes." example:"[\"track:events\"]"`
	Access         keyAccess           `json:"access,omitzero" doc:"Websites that the key can access; all websites of the organization if absent."`
	ExpiresAt      rpc.Patch[rpc.Time] `json:"expiresAt,omitzero" nullable:"true" doc:"Time at which the key expires; null for never."`
	RateLimit      rateLimit           `json:"rateLimit,omitzero" doc:"Rate limit of the key over all endpoints, in addition to the limits of the endpoints."`
	IPAllow        []string            `json:"ipAllow,omitempty" maxItems:"100" maxLength:"64" doc:"IP addresses and CIDR ranges from which the key is accepted. Empty allows all."`
	IdleExpiryDays rpc.Patch[int]      `json:"idleExpiryDays,omitzero" minimum:"1" maximum:"3650" nullable:"true" doc:"Days without use after which the key expires; null for never."`
	Tags           []string            `json:"tags,omitempty" maxItems:"20" maxLength:"50"`
}

type keyAccess struct {
	Type      string `json:"type" enum:"global,website"`
	WebsiteID string `json:"websiteId,omitempty" maxLength:"128" doc:"Id or client id of the website. Only for the type website."`
}

type rateLimit struct {
	Enabled       bool `json:"enabled"`
	Limit         int  `json:"limit,omitempty" minimum:"1" maximum:"100000" doc:"Requests in a window; 300 if absent."`
	WindowSeconds int  `json:"windowSeconds,omitempty" minimum:"1" maximum:"3600" doc:"Length of the window; 60 if absent."`
}

func (r rateLimit) domain() apikey.RateLimit {
	return apikey.RateLimit{Enabled: r.Enabled, Limit: r.Limit, Window: time.Duration(r.WindowSeconds) * time.Second}
}

type keyUpdate struct {
	KeyChange

	Name           rpc.Patch[string]    `json:"name,omitzero" minLength:"1" maxLength:"100" doc:"Name of the key."`
	Scopes         rpc.Patch[[]string]  `json:"scopes,omitzero" minItems:"1" maxItems:"50" maxLength:"64" doc:"Scopes of the key; see the table of scopes."`
	ExpiresAt      rpc.Patch[rpc.Time]  `json:"expiresAt,omitzero" nullable:"true" doc:"Time at which the key expires; null for never."`
	RateLimit      rpc.Patch[rateLimit] `json:"rateLimit,omitzero" doc:"Rate limit of the key over all endpoints, in addition to the limits of the endpoints. Absent members keep their values."`
	IPAllow        rpc.Patch[[]string]  `json:"ipAllow,omitzero" maxItems:"100" maxLength:"64" doc:"IP addresses and CIDR ranges from which the key is accepted. Empty allows all."`
	IdleExpiryDays rpc.Patch[int]       `json:"idleExpiryDays,omitzero" minimum:"1" maximum:"3650" nullable:"true" doc:"Days without use after which the key expires; null for never."`
	Tags           rpc.Patch[[]string]  `json:"tags,omitzero" maxItems:"20" maxLength:"50"`
}

func (in *keyUpdate) patch() apikey.Patch {
	p := apikey.Patch{
		Name: sent(in.Name), Scopes: sent(in.Scopes), IPAllow: sent(in.IPAllow), Tags: sent(in.Tags),
		IdleExpiryDays: sent(in.IdleExpiryDays), ExpiresAt: sentTime(in.ExpiresAt),
	}
	if in.RateLimit.Set {
		limit := in.RateLimit.Or(rateLimit{}).domain()
		p.RateLimit = &limit
	}
	return p
}

type keyList struct {
	rpc.InOrganization
	rpc.Page

	Search    string `json:"search,omitempty" minLength:"1" maxLength:"100" doc:"Substring of the name in any case, or the first characters of the secret."`
	Status    string `json:"status,omitempty" enum:"active,revoked,expired"`
	Tag       string `json:"tag,omitempty" minLength:"1" maxLength:"50"`
	WebsiteID string `json:"websiteId,omitempty" minLength:"1" maxLength:"128" doc:"Only keys that are limited to this website, by its id or client id. A deleted website is found by its id only."`
	CreatedBy string `json:"createdBy,omitempty" minLength:"1" maxLength:"64" doc:"Only keys that the user with this id created, even after the user has left."`
	Sort      string `json:"sort,omitempty" enum:"-createdAt,createdAt" default:"-createdAt" doc:"Sort order; -createdAt lists the newest first."`
}

type keyRotate struct {
	KeyChange

	GracePeriodSeconds int `json:"gracePeriodSeconds,omitempty" minimum:"0" maximum:"86400" doc:"Seconds for which the old secret is still accepted."`
}

// KeyBody is a key as the wire has it, without its secret.
type KeyBody struct {
	ID             string        `json:"id"`
	OrganizationID string        `json:"organizationId"`
	Version        int64         `json:"version" doc:"Number that increases with every change."`
	Name           string        `json:"name"`
	Prefix         string        `json:"prefix" doc:"Prefix of the secret, before the underscore."`
	Start          string        `json:"start" doc:"First characters of the secret, after the underscore."`
	Scopes         []string      `json:"scopes"`
	Access         keyAccess     `json:"access"`
	Status         string        `json:"status" enum:"active,revoked,expired"`
	RateLimit      rateLimitBody `json:"rateLimit"`
	IPAllow        []string      `json:"ipAllow"`
	IdleExpiryDays *int          `json:"idleExpiryDays" nullable:"true"`
	Tags           []string      `json:"tags"`
	ExpiresAt      *rpc.Time     `json:"expiresAt" nullable:"true"`
	LastUsedAt     *rpc.Time     `json:"lastUsedAt" nullable:"true" doc:"Accurate to the minute, and up to a minute late."`
	RotatedAt      *rpc.Time     `json:"rotatedAt" nullable:"true"`
	OldSecretUntil *rpc.Time     `json:"oldSecretUntil" nullable:"true" doc:"Time until which the secret before the last rotation is accepted."`
	RevokedAt      *rpc.Time     `json:"revokedAt" nullable:"true"`
	CreatedAt      *rpc.Time     `json:"createdAt"`
	UpdatedAt      *rpc.Time     `json:"updatedAt"`
	CreatedBy      *string       `json:"createdBy" nullable:"true" doc:"Id of the user who created the key; null for the operator's command."`
}

type rateLimitBody struct {
	Enabled       bool `json:"enabled"`
	Limit         int  `json:"limit"`
	WindowSeconds int  `json:"windowSeconds"`
}

// SecretKeyBody is a key with its secret, this one time.
type SecretKeyBody struct {
	KeyBody

	Secret string `json:"secret" doc:"The secret. It is shown only once."`
}

// NewKeyBody returns a key as the wire has it.
func NewKeyBody(k *apikey.Key, now time.Time) KeyBody {
	prefix, start := k.Start, ""
	if i := strings.LastIndexByte(k.Start, '_'); i >= 0 {
		prefix, start = k.Start[:i], k.Start[i+1:]
	}
	b := KeyBody{
		ID: k.ID, OrganizationID: k.OrganizationID, Version: k.Version, Name: k.Name, Prefix: prefix, Start: start,
		RateLimit: rateLimitBody{
			Enabled: k.RateLimit.Enabled, Limit: cmp.Or(k.RateLimit.Limit, apikey.DefaultRateLimit),
			WindowSeconds: int(cmp.Or(k.RateLimit.Window, apikey.DefaultRateWindow) / time.Second),
		},
		Scopes: list(k.Scopes), Access: keyAccess{Type: "global"}, Status: string(k.Status(now)),
		IPAllow: cidr.Format(k.IPAllow), IdleExpiryDays: wire.OrNull(k.IdleExpiryDays), Tags: list(k.Tags),
		ExpiresAt: rpc.At(k.ExpiresAt), LastUsedAt: rpc.At(k.LastUsedAt), RotatedAt: rpc.At(k.RotatedAt),
		RevokedAt: rpc.At(k.RevokedAt), CreatedAt: rpc.At(k.CreatedAt), UpdatedAt: rpc.At(k.UpdatedAt),
		CreatedBy: wire.OrNull(k.CreatedBy),
	}
	if k.WebsiteID != "" {
		b.Access = keyAccess{Type: "website", WebsiteID: k.WebsiteID}
	}
	if now.Before(k.OldHashUntil) {
		b.OldSecretUntil = rpc.At(k.OldHashUntil)
	}
	return b
}

// told shapes the response of everything that ends with one key.
func (s *APIKeys) told(k *apikey.Key, err error) (*KeyBody, error) {
	if err != nil {
		return nil, err
	}
	b := NewKeyBody(k, time.Now())
	return &b, nil
}

func (in *KeyChange) target(call *rpc.Call) managed.Target {
	return managed.Target{OrganizationID: call.OrganizationID(), Ref: in.ID.ID, Version: in.Version.Version}
}

func (s *APIKeys) create(ctx context.Context, call *rpc.Call, in *keyCreate) (*SecretKeyBody, error) {
	if err := mayGrant(call, in.Scopes); err != nil {
		return nil, err
	}
	websiteID, err := s.website(ctx, call, in.Access)
	if err != nil {
		return nil, err
	}
	spec := apikey.Spec{
		OrganizationID: call.OrganizationID(), WebsiteID: websiteID, Name: in.Name, Scopes: in.Scopes,
		ExpiresAt: in.ExpiresAt.Or(rpc.Time{}).UTC(), RateLimit: in.RateLimit.domain(), IPAllow: in.IPAllow,
		IdleExpiryDays: in.IdleExpiryDays.Or(0), Tags: in.Tags, CreatedBy: call.By.Actor.ID,
	}
	k, secret, err := s.Service.Create(ctx, call.By, spec)
	if err != nil {
		return nil, err
	}
	return &SecretKeyBody{KeyBody: NewKeyBody(k, time.Now()), Secret: secret}, nil
}

// website returns the id of the website that a new key is limited to, empty for
// none.
func (s *APIKeys) website(ctx context.Context, call *rpc.Call, access keyAccess) (string, error) {
	switch {
	case access.Type == "website" && access.WebsiteID == "":
		return "", apierr.Invalid("access.websiteId", "required", "access.websiteId is required if access.type is website")
	case access.Type != "website" && access.WebsiteID != "":
		return "", apierr.Invalid("access.websiteId", "not_allowed", "access.websiteId must be absent unless access.type "+
			"is website")
	case access.WebsiteID == "":
		return "", nil
	}
	w, err := s.Websites.Get(ctx, managed.Target{OrganizationID: call.OrganizationID(), Ref: access.WebsiteID})
	if err != nil {
		return "", err
	}
	return w.ID, nil
}

// mayGrant refuses to put into a key what the caller's own role is not worth. A
// name that is no scope is for package apikey to reject.
func mayGrant(call *rpc.Call, scopes []string) error {
	worth := auth.ScopesOf(call.Principal.Role)
	for _, name := range scopes {
		scope := auth.Scope(name)
		if auth.AllScopes().Has(scope) && !worth.Has(scope) {
			return apierr.Wrap(apierr.Forbidden, fmt.Errorf("role %s cannot grant %s", call.Principal.Role, name))
		}
	}
	return nil
}

func (s *APIKeys) get(ctx context.Context, call *rpc.Call, in *KeyRef) (*KeyBody, error) {
	return s.told(s.Service.Get(ctx, call.OrganizationID(), in.ID.ID))
}

func (s *APIKeys) list(ctx context.Context, call *rpc.Call, in *keyList) (*rpc.List[KeyBody], error) {
	websiteID, err := websiteNamed(ctx, s.Websites, call, in.WebsiteID)
	if err != nil {
		return nil, err
	}
	filter := apikey.Filter{
		OrganizationID: call.OrganizationID(), WebsiteID: websiteID, Tag: displayname.Form(in.Tag), Search: in.Search,
		CreatedBy: in.CreatedBy, Status: apikey.Status(in.Status), Newest: in.Sort != "createdAt", Limit: in.Size() + 1,
	}
	if _, err := in.After(&filter.After); err != nil {
		return nil, err
	}
	found, err := s.Service.List(ctx, filter)
	if err != nil {
		return nil, err
	}
	bodies, now := make([]KeyBody, len(found)), time.Now()
	for i, k := range found {
		bodies[i] = NewKeyBody(k, now)
	}
	return rpc.Cut(bodies, in.Size(), func(b KeyBody) any { return b.ID }), nil
}

func (s *APIKeys) update(ctx context.Context, call *rpc.Call, in *keyUpdate) (*KeyBody, error) {
	if err := mayGrant(call, in.Scopes.Or(nil)); err != nil {
		return nil, err
	}
	return s.told(s.Service.Update(ctx, call.By, in.target(call), in.patch()))
}

func (s *APIKeys) rotate(ctx context.Context, call *rpc.Call, in *keyRotate) (*SecretKeyBody, error) {
	grace := time.Duration(in.GracePeriodSeconds) * time.Second
	k, secret, err := s.Service.Rotate(ctx, call.By, in.target(call), grace)
	if err != nil {
		return nil, err
	}
	return &SecretKeyBody{KeyBody: NewKeyBody(k, time.Now()), Secret: secret}, nil
}

func (s *APIKeys) revoke(ctx context.Context, call *rpc.Call, in *KeyChange) (*KeyBody, error) {
	return s.told(s.Service.Revoke(ctx, call.By, in.target(call)))
}

func (s *APIKeys) delete(ctx context.Context, call *rpc.Call, in *KeyChange) (*KeyBody, error) {
	return s.told(s.Service.Delete(ctx, call.By, in.target(call)))
}
