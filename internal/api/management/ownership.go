package management

import (
	"context"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/org"
)

func (o *Organizations) ownership() []rpc.Operation {
	return []rpc.Operation{
		rpc.Op(rpc.Spec{
			Name: "list", Summary: "List your organizations", Class: auth.Account,
			Detail: "Oldest membership first; at most 100, on one page. Other calls select an organization with " +
				"organizationId. With deleted, lists the organizations that you owned and can restore.",
		}, o.list),
		rpc.Op(rpc.Spec{
			Name: "create", Summary: "Create an organization", Class: auth.Account, Audit: "organization.created", Creates: true,
			Detail: "The caller becomes its owner. Unless session.sign_up is open, only owners of an organization can create " +
				"another one.",
		}, o.create),
		rpc.Op(rpc.Spec{
			Name: "transferOwnership", Summary: "Transfer your ownership to another member", Class: auth.OwnOrganization,
			Audit:  "organization.ownershipTransferred",
			Detail: "The member becomes an owner and the caller gets the given role, in one step. Other owners remain owners.",
		}, o.transfer),
		rpc.Op(rpc.Spec{
			Name: "delete", Summary: "Delete an organization", Class: auth.OwnOrganization, Audit: "organization.deleted",
			Detail: "Within a second, its API keys, its members, events of its websites and all queries are rejected, and its " +
				"data is no longer visible. Open invitations are revoked. Its owners can restore the organization for 30 days; " +
				"after that all of its data is erased.",
		}, o.delete),
		rpc.Op(rpc.Spec{
			Name: "restore", Summary: "Restore a deleted organization", Class: auth.Account, Audit: "organization.restored",
			Detail: "Only for former owners. Members, websites and API keys are restored, and take effect everywhere within " +
				"seconds. Invitations are not restored.",
		}, o.restore),
	}
}

type ownMembershipBody struct {
	ID       string    `json:"id" doc:"Id of the organization."`
	Name     string    `json:"name" doc:"Name of the organization."`
	Role     string    `json:"role" enum:"owner,admin,editor,viewer"`
	JoinedAt *rpc.Time `json:"joinedAt"`

	DeletedAt       *rpc.Time `json:"deletedAt" nullable:"true"`
	RestorableUntil *rpc.Time `json:"restorableUntil" nullable:"true" doc:"Only for a deleted organization."`
}

type membershipsInput struct {
	Deleted bool `json:"deleted,omitempty" doc:"Lists the organizations that you can restore instead."`
}

func (o *Organizations) list(
	ctx context.Context, call *rpc.Call, in *membershipsInput,
) (*rpc.List[ownMembershipBody], error) {
	read := o.Service.Memberships
	if in.Deleted {
		read = o.Service.Deleted
	}
	memberships, err := read(ctx, call.Principal.UserID)
	if err != nil {
		return nil, err
	}
	bodies := make([]ownMembershipBody, len(memberships))
	for i, p := range memberships {
		bodies[i] = ownMembershipBody{
			ID: p.OrganizationID, Name: p.Organization, Role: string(p.Role), JoinedAt: rpc.At(p.CreatedAt),
			DeletedAt: rpc.At(p.DeletedAt),
		}
		if !p.DeletedAt.IsZero() {
			bodies[i].RestorableUntil = rpc.At(p.DeletedAt.Add(org.RestoreFor))
		}
	}
	return rpc.Cut(bodies, org.MaxMemberships, func(b ownMembershipBody) any { return b.ID }), nil
}

type organizationCreate struct {
	Name     string                 `json:"name" minLength:"1" maxLength:"100"`
	Slug     string                 `json:"slug,omitempty" minLength:"2" maxLength:"40" doc:"2 to 40 lower-case letters, digits and hyphens."`
	Defaults organizationDefaultsIn `json:"defaults,omitzero"`
}

type organizationDefaultsIn struct {
	Timezone string `json:"timezone,omitempty" minLength:"1" maxLength:"64" doc:"IANA time zone such as Europe/Berlin; UTC if absent."`
}

func (o *Organizations) create(ctx context.Context, call *rpc.Call, in *organizationCreate) (*organizationBody, error) {
	made, err := o.Service.Create(ctx, call.By, call.Principal.UserID, in.Name, org.Settings{
		Slug: wire.OrNull(in.Slug), Timezone: wire.OrNull(in.Defaults.Timezone),
	})
	if err != nil {
		return nil, err
	}
	return o.body(ctx, made)
}

type transferInput struct {
	rpc.InOrganization

	UserID string `json:"userId" minLength:"1" maxLength:"64" doc:"Member who becomes an owner."`
	Role   string `json:"role,omitempty" enum:"admin,editor,viewer" default:"admin" doc:"Role of the caller after the transfer."`
}

type transferBody struct {
	Owner       memberBody `json:"owner" doc:"Member who is now an owner."`
	FormerOwner memberBody `json:"formerOwner" doc:"The caller."`
}

func (o *Organizations) transfer(ctx context.Context, call *rpc.Call, in *transferInput) (*transferBody, error) {
	role := org.RoleAdmin
	if in.Role != "" {
		role = org.Role(in.Role)
	}
	owner, former, err := o.Service.Transfer(ctx, call.By, org.Transfer{
		OrganizationID: call.OrganizationID(), From: call.Principal.UserID, To: in.UserID, Role: role,
	})
	if err != nil {
		return nil, err
	}
	return &transferBody{newMemberBody(*owner), newMemberBody(*former)}, nil
}

type deleteInput struct {
	rpc.InOrganization
	rpc.Version

	Name string `json:"name" minLength:"1" maxLength:"100" doc:"Exact name of the organization, as a confirmation."`
}

type deletionBody struct {
	Members         int       `json:"members" doc:"Number of members that it had."`
	Websites        int       `json:"websites" doc:"Number of its websites, without websites that were deleted earlier."`
	APIKeys         int       `json:"apiKeys" doc:"Number of its API keys, without revoked and deleted keys."`
	Links           int       `json:"links" doc:"Number of its short links, without links that were deleted earlier."`
	RestorableUntil *rpc.Time `json:"restorableUntil"`
}

func (o *Organizations) delete(ctx context.Context, call *rpc.Call, in *deleteInput) (*deletionBody, error) {
	d, err := o.Service.Delete(ctx, call.By, call.OrganizationID(), in.Name, in.Version.Version)
	if err != nil {
		return nil, err
	}
	return &deletionBody{d.Members, d.Websites, d.APIKeys, d.Links, rpc.At(d.RestorableUntil)}, nil
}

func (o *Organizations) restore(ctx context.Context, call *rpc.Call, in *rpc.ID) (*organizationBody, error) {
	restored, err := o.Service.Restore(ctx, call.By, in.ID, call.Principal.UserID)
	if err != nil {
		return nil, err
	}
	return o.body(ctx, restored)
}
