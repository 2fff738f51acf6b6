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
		Name: "organization", Summary: "An organization's settings, members and invitations.",
		Failures: []rpc.Failure{
			{Err: org.ErrNotFound, Code: apierr.NotFound, Message: "Organization not found"},
			{Err: quota.ErrNotFound, Code: apierr.NotFound, Message: "Organization not found"},
			{Err: org.ErrMemberNotFound, Code: apierr.NotFound, Message: "Member not found"},
			{
				Err:     org.ErrInvitationNotFound,
				Code:    apierr.NotFound,
				Message: "The invitation is unknown, past, used already or for another e-mail address",
			},
			{Err: managed.ErrChanged, Code: apierr.Conflict},
			{Err: org.ErrNotDeleted, Code: apierr.Conflict, Message: "The organization is not deleted"},
			{Err: org.ErrSlugTaken, Code: apierr.Conflict, Message: "Another organization has this slug"},
			{
				Err:     org.ErrLastOwner,
				Code:    apierr.Conflict,
				Message: "An organization keeps at least one owner; make somebody else an owner first",
			},
			{Err: org.ErrMemberExists, Code: apierr.Conflict, Message: "The person is a member already"},
			{
				Err:     org.ErrTooManyInvitations,
				Code:    apierr.Conflict,
				Message: "There are 100 open invitations already, which is as many as an organization may have",
			},
			{
				Err:     org.ErrTooManyMemberships,
				Code:    apierr.Conflict,
				Message: "The person belongs to as many organizations as anybody may",
			},
		},
		Operations: slices.Concat(o.settings(), o.ownership(), o.usage(), o.members(), o.invitations()),
	}
}

func (o *Organizations) settings() []rpc.Operation {
	return []rpc.Operation{
		rpc.Op(rpc.Spec{Name: "get", Summary: "Read the organization's settings", Class: auth.ViewOrganization}, o.get),
		rpc.Op(rpc.Spec{
			Name: "update", Summary: "Change the organization's settings", Class: auth.ManageOrganization,
			Audit:  "organization.updated",
			Detail: "What is absent stays; null removes the slug or the logo.",
		}, o.update),
	}
}

type organizationBody struct {
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	Slug      *string      `json:"slug" nullable:"true" doc:"Short name for addresses, unlike every other organization's."`
	LogoURL   *string      `json:"logoUrl" nullable:"true"`
	Defaults  defaultsBody `json:"defaults" doc:"What new websites begin with."`
	Quota     quotaBody    `json:"quota" doc:"How the organization stands in the current month."`
	CreatedBy *string      `json:"createdBy" nullable:"true" doc:"Id of the person who made it; null for the operator."`
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
	LogoURL  rpc.Patch[string] `json:"logoUrl,omitzero" nullable:"true" maxLength:"2048" doc:"An address that begins with https://."`
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
