package management

import (
	"context"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/auth"
	"github.com/millrace/millrace/internal/org"
)

func (o *Organizations) members() []rpc.Operation {
	return []rpc.Operation{
		rpc.Op(rpc.Spec{Name: "listMembers", Summary: "List who belongs to the organization", Class: auth.ViewMembers}, o.listMembers),
		rpc.Op(rpc.Spec{
			Name: "setMemberRole", Summary: "Give a member another role", Class: auth.ManageMembers, Audit: "member.updated",
			Detail: "Only owners make owners and change what owners are; the last owner stays one.",
		}, o.setMemberRole),
		rpc.Op(rpc.Spec{
			Name: "removeMember", Summary: "Take a member's place away", Class: auth.ManageMembers, Audit: "member.removed",
			Detail: "The person's account and their places in other organizations stay; invitations that they sent end.",
		}, o.removeMember),
		rpc.Op(rpc.Spec{
			Name: "leave", Summary: "Give up one's own place", Class: auth.ViewMembers, Audit: "member.removed",
			Detail: "Anybody may but the last owner.",
		}, o.leave),
	}
}

type memberBody struct {
	UserID   string    `json:"userId"`
	Email    string    `json:"email"`
	Name     string    `json:"name"`
	Role     string    `json:"role" enum:"owner,admin,editor,viewer"`
	JoinedAt *rpc.Time `json:"joinedAt"`
}

func newMemberBody(p org.Person) memberBody {
	return memberBody{UserID: p.UserID, Email: p.Email, Name: p.Name, Role: string(p.Role), JoinedAt: rpc.At(p.CreatedAt)}
}

// listInput is the input of the lists of an organization.
type listInput struct {
	rpc.InOrganization
	rpc.Page
}

func (o *Organizations) listMembers(ctx context.Context, call *rpc.Call, in *listInput) (*rpc.List[memberBody], error) {
	var after string
	if _, err := in.After(&after); err != nil {
		return nil, err
	}
	people, err := o.Service.People(ctx, call.OrganizationID(), after, in.Size()+1)
	if err != nil {
		return nil, err
	}
	members := make([]memberBody, len(people))
	for i, p := range people {
		members[i] = newMemberBody(p)
	}
	return rpc.Cut(members, in.Size(), func(m memberBody) any { return m.UserID }), nil
}

type memberInput struct {
	rpc.InOrganization

	UserID string `json:"userId" minLength:"1" maxLength:"64"`
}

type roleInput struct {
	rpc.InOrganization

	UserID string `json:"userId" minLength:"1" maxLength:"64"`
	Role   string `json:"role" enum:"owner,admin,editor,viewer"`
}

func (o *Organizations) setMemberRole(ctx context.Context, call *rpc.Call, in *roleInput) (*memberBody, error) {
	p, err := o.Service.SetRole(ctx, call.By, call.Principal.Role, call.OrganizationID(), in.UserID, org.Role(in.Role))
	if err != nil {
		return nil, err
	}
	body := newMemberBody(*p)
	return &body, nil
}

func (o *Organizations) removeMember(ctx context.Context, call *rpc.Call, in *memberInput) (*rpc.Empty, error) {
	return &rpc.Empty{}, o.Service.Remove(ctx, call.By, call.Principal.Role, call.OrganizationID(), in.UserID)
}

func (o *Organizations) leave(ctx context.Context, call *rpc.Call, _ *rpc.InOrganization) (*rpc.Empty, error) {
	return &rpc.Empty{}, o.Service.Leave(ctx, call.By, call.OrganizationID(), call.Principal.UserID)
}
