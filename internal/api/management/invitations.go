package management

import (
	"context"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/org"
)

func (o *Organizations) invitations() []rpc.Operation {
	return []rpc.Operation{
		rpc.Op(rpc.Spec{
			Name: "inviteMember", Summary: "Invite a person to the organization", Class: auth.ManageMembers,
			Audit: "invitation.created", Creates: true,
			Detail: "Mails the invitation, which is valid for seven days. Inviting the same address again replaces the " +
				"earlier invitation. If the installation sends no e-mail, the response contains the token for the inviter to " +
				"pass on. Only owners can invite owners. Returns 403 if the caller's e-mail address is not verified and the " +
				"installation sends e-mail. Mails are limited, and more return 429. An address gets up to " +
				"three in a burst, then one every 8 hours, from all inviters together. An organization sends up to 100 in a " +
				"burst, then one every 15 minutes. A user sends up to 50 in a burst, then one every 30 minutes.",
		}, o.inviteMember),
		rpc.Op(rpc.Spec{Name: "listInvitations", Summary: "List the open invitations", Class: auth.ManageMembers},
			o.listInvitations),
		rpc.Op(rpc.Spec{
			Name: "revokeInvitation", Summary: "Revoke an invitation", Class: auth.ManageMembers, Audit: "invitation.revoked",
		}, o.revokeInvitation),
		rpc.Op(rpc.Spec{
			Name: "acceptInvitation", Summary: "Accept an invitation", Class: auth.Account,
			Audit:  "invitation.accepted",
			Detail: "The invitation must be for the e-mail address of the signed-in user.",
		}, o.acceptInvitation),
	}
}

type inviteInput struct {
	rpc.InOrganization

	Email string `json:"email" minLength:"3" maxLength:"254"`
	Role  string `json:"role" enum:"owner,admin,editor,viewer"`
}

type invitationBody struct {
	ID        string    `json:"id"`
	Email     string    `json:"email"`
	Role      string    `json:"role" enum:"owner,admin,editor,viewer"`
	InvitedBy *string   `json:"invitedBy" nullable:"true" doc:"Id of the user who sent the invitation; null for the operator."`
	CreatedAt *rpc.Time `json:"createdAt"`
	ExpiresAt *rpc.Time `json:"expiresAt"`
	// Token is in no list.
	Token *string `json:"token,omitempty" doc:"Token of the invitation. Only in the response to invite, and only if the installation sends no e-mail."`
}

func newInvitationBody(i *org.Invitation) invitationBody {
	return invitationBody{
		ID: i.ID, Email: i.Email, Role: string(i.Role), InvitedBy: wire.OrNull(i.InvitedBy),
		CreatedAt: rpc.At(i.CreatedAt), ExpiresAt: rpc.At(i.ExpiresAt),
	}
}

func (o *Organizations) inviteMember(ctx context.Context, call *rpc.Call, in *inviteInput) (*invitationBody, error) {
	inviter := org.Inviter{Role: call.Principal.Role, Verified: call.User.Verified()}
	i, token, err := o.Service.Invite(ctx, call.By, inviter, call.OrganizationID(), in.Email, org.Role(in.Role))
	if err != nil {
		return nil, err
	}
	body := newInvitationBody(i)
	body.Token = wire.OrNull(token)
	return &body, nil
}

func (o *Organizations) listInvitations(
	ctx context.Context, call *rpc.Call, in *listInput,
) (*rpc.List[invitationBody], error) {
	var after string
	if _, err := in.After(&after); err != nil {
		return nil, err
	}
	all, err := o.Service.Invitations(ctx, call.OrganizationID(), after, in.Size()+1)
	if err != nil {
		return nil, err
	}
	bodies := make([]invitationBody, len(all))
	for i := range all {
		bodies[i] = newInvitationBody(&all[i])
	}
	return rpc.Cut(bodies, in.Size(), func(i invitationBody) any { return i.ID }), nil
}

type invitationInput struct {
	rpc.InOrganization
	rpc.ID
}

func (o *Organizations) revokeInvitation(ctx context.Context, call *rpc.Call, in *invitationInput) (*rpc.Empty, error) {
	return &rpc.Empty{}, o.Service.Revoke(ctx, call.By, call.Principal.Role, call.OrganizationID(), in.ID.ID)
}

type acceptInput struct {
	Token string `json:"token" minLength:"1" maxLength:"64"`
}

func (o *Organizations) acceptInvitation(
	ctx context.Context, call *rpc.Call, in *acceptInput,
) (*membershipBody, error) {
	membership, err := o.Service.Accept(ctx, call.By, in.Token, call.Principal.UserID)
	if err != nil {
		return nil, err
	}
	body := newMembershipBody(*membership)
	return &body, nil
}
