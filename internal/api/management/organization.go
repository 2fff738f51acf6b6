package management

import (
	"context"
	"slices"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/quota"
	"github.com/millrace/millrace/internal/tenant/website"
)

// Organizations are the operations of an organization, its members and its
// invitations.
type Organizations struct {
	Service  *org.Service
	Quotas   *quota.Service
	Websites *website.Service // by whose names usage is asked for
}

// Resource returns the rows.
func (o *Organizations) Resource() rpc.Resource {
	return rpc.Resource{
		Name: "organization", Summary: "Settings, members and invitations of an organization.",
		Failures: []rpc.Failure{
			{Err: org.ErrNotFound, Code: apierr.NotFound, Message: "Organization not found"},
			{Err: quota.ErrNotFound, Code: apierr.NotFound, Message: "Organization not found"},
			{Err: org.ErrMemberNotFound, Code: apierr.NotFound, Message: "Member not found"},
			{
				Err:     org.ErrInvitationNotFound,
				Code:    apierr.NotFound,
				Message: "The invitation is unknown, expired, already used or for another e-mail address",
			},
			{Err: managed.ErrChanged, Code: apierr.Conflict},
			{Err: org.ErrNotDeleted, Code: apierr.Conflict, Message: "The organization is not deleted"},
			{Err: org.ErrSlugTaken, Code: apierr.Conflict, Message: "Another organization has this slug"},
			{
				Err:     org.ErrLastOwner,
				Code:    apierr.Conflict,
				Message: "An organization must have at least one owner; make another member an owner first",
			},
			{Err: org.ErrMemberExists, Code: apierr.Conflict, Message: "The user is already a member"},
			{
				Err:     org.ErrTooManyInvitations,
				Code:    apierr.Conflict,
				Message: "The organization has 100 open invitations; at most 100 are allowed",
			},
			{
				Err:     org.ErrTooManyMemberships,
				Code:    apierr.Conflict,
				Message: "The user has reached the limit of organizations",
			},
		},
		Operations: slices.Concat(o.settings(), o.ownership(), o.usage(), o.members(), o.invitations()),
	}
}

func (o *Organizations) settings() []rpc.Operation {
	return []rpc.Operation{
		rpc.Op(rpc.Spec{Name: "get", Summary: "Get the settings of an organization", Class: auth.ViewOrganization}, o.get),
		rpc.Op(rpc.Spec{
			Name: "update", Summary: "Update the settings of an organization", Class: auth.ManageOrganization,
			Audit:  "organization.updated",
			Detail: "Absent fields keep their values; null removes the slug or the logo.",
		}, o.update),
	}
}

type organizationBody struct {
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	Slug      *string      `json:"slug" nullable:"true" doc:"Short name for URLs, unique among all organizations."`
	LogoURL   *string      `json:"logoUrl" nullable:"true"`
	Defaults  defaultsBody `json:"defaults" doc:"Defaults for new websites."`
	Quota     quotaBody    `json:"quota" doc:"Usage in the current month."`
	CreatedBy *string      `json:"createdBy" nullable:"true" doc:"Id of the user who created the organization; null for the operator."`
	Version   int64        `json:"version"`
	CreatedAt *rpc.Time    `json:"createdAt"`
	UpdatedAt *rpc.Time    `json:"updatedAt"`
}

type defaultsBody struct {
	Timezone string `json:"timezone" doc:"IANA time zone."`
}

func (o *Organizations) body(ctx context.Context, found *org.Organization) (*organizationBody, error) {
	standing, err := o.Quotas.Of(ctx, found.ID)
	if err != nil {
		return nil, err
	}
	return &organizationBody{
		ID: found.ID, Name: found.Name, Slug: wire.OrNull(found.Slug), LogoURL: wire.OrNull(found.LogoURL),
		Defaults: defaultsBody{found.Timezone},
		Quota:    newQuotaBody(standing), CreatedBy: wire.OrNull(found.CreatedBy), Version: found.Version,
		CreatedAt: rpc.At(found.CreatedAt), UpdatedAt: rpc.At(found.UpdatedAt),
	}, nil
}

func (o *Organizations) get(ctx context.Context, call *rpc.Call, _ *rpc.InOrganization) (*organizationBody, error) {
	found, err := o.Service.Get(ctx, call.OrganizationID())
	if err != nil {
		return nil, err
	}
	return o.body(ctx, found)
}

type organizationUpdate struct {
	rpc.InOrganization
	rpc.Version

	Name     rpc.Patch[string] `json:"name,omitzero" minLength:"1" maxLength:"100"`
	Slug     rpc.Patch[string] `json:"slug,omitzero" nullable:"true" maxLength:"40" doc:"2 to 40 lower-case letters, digits and hyphens."`
	LogoURL  rpc.Patch[string] `json:"logoUrl,omitzero" nullable:"true" maxLength:"2048" doc:"URL that starts with https://."`
	Defaults defaultsUpdate    `json:"defaults,omitzero"`
}

type defaultsUpdate struct {
	Timezone rpc.Patch[string] `json:"timezone,omitzero" minLength:"1" maxLength:"64" doc:"IANA time zone such as Europe/Berlin."`
}

func (o *Organizations) update(ctx context.Context, call *rpc.Call, in *organizationUpdate) (*organizationBody, error) {
	changed, err := o.Service.Update(ctx, call.By, call.OrganizationID(), in.Version.Version, org.Settings{
		Name: sent(in.Name), Slug: sent(in.Slug), LogoURL: sent(in.LogoURL), Timezone: sent(in.Defaults.Timezone),
	})
	if err != nil {
		return nil, err
	}
	return o.body(ctx, changed)
}
