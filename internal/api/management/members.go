package management

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/org"
)

// keysStay is what is said of the keys of who goes.
const keysStay = "API keys that the user created keep working unless revokeKeys revokes them in the same call. The " +
	"response and the audit list them."

func (o *Organizations) members() []rpc.Operation {
	return []rpc.Operation{
		rpc.Op(rpc.Spec{Name: "listMembers", Summary: "List the members of the organization", Class: auth.ViewMembers},
			o.listMembers),
		rpc.Op(rpc.Spec{
			Name: "setMemberRole", Summary: "Change the role of a member", Class: auth.ManageMembers, Audit: "member.updated",
			Detail: "Only owners can make a member an owner or change an owner's role. The last owner cannot lose the role.",
		}, o.setMemberRole),
		rpc.Op(rpc.Spec{
			Name: "removeMember", Summary: "Remove a member", Class: auth.ManageMembers, Audit: "member.removed",
			Detail: "The user's account and other memberships remain. Invitations that the user sent are revoked. " +
				keysStay,
		}, o.removeMember),
		rpc.Op(rpc.Spec{
			Name: "leave", Summary: "Leave the organization", Class: auth.ViewMembers, Audit: "member.removed",
			Detail: "The last owner cannot leave. " + keysStay + " Only owners and admins can revoke keys.",
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

type removeInput struct {
	rpc.InOrganization

	UserID     string `json:"userId" minLength:"1" maxLength:"64"`
	RevokeKeys bool   `json:"revokeKeys,omitempty" doc:"Whether to revoke the API keys that the user created."`
}

type leaveInput struct {
	rpc.InOrganization

	RevokeKeys bool `json:"revokeKeys,omitempty" doc:"Whether to revoke the API keys that you created. Only for owners and admins."`
}

// departureBody is what somebody leaves who has gone.
type departureBody struct {
	APIKeys        []KeyBody `json:"apiKeys" doc:"API keys of the organization that the user created and that were neither revoked nor deleted: the oldest 100, in their current state."`
	APIKeysTotal   int       `json:"apiKeysTotal" doc:"Number of these keys."`
	APIKeysRevoked bool      `json:"apiKeysRevoked" doc:"Whether the call revoked all of these keys."`
}

// departed shapes the response of everything that ends with somebody gone.
func departed(made *org.MadeKeys, err error) (*departureBody, error) {
	if err != nil {
		return nil, err
	}
	body := &departureBody{
		APIKeys: make([]KeyBody, len(made.Keys)), APIKeysTotal: made.Total, APIKeysRevoked: made.Revoked,
	}
	now := time.Now()
	for i, k := range made.Keys {
		body.APIKeys[i] = NewKeyBody(k, now)
	}
	return body, nil
}

// mayRevoke refuses to revoke keys to whom they are none of their business.
func mayRevoke(call *rpc.Call, revoke bool) error {
	if !revoke {
		return nil
	}
	return auth.Admit(call.Principal, auth.ManageKeys)
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

func (o *Organizations) removeMember(ctx context.Context, call *rpc.Call, in *removeInput) (*departureBody, error) {
	if err := mayRevoke(call, in.RevokeKeys); err != nil {
		return nil, err
	}
	return departed(o.Service.Remove(ctx, call.By, call.Principal.Role, org.Departure{
		OrganizationID: call.OrganizationID(), UserID: in.UserID, RevokeKeys: in.RevokeKeys,
	}))
}

func (o *Organizations) leave(ctx context.Context, call *rpc.Call, in *leaveInput) (*departureBody, error) {
	if err := mayRevoke(call, in.RevokeKeys); err != nil {
		return nil, err
	}
	return departed(o.Service.Leave(ctx, call.By, org.Departure{
		OrganizationID: call.OrganizationID(), UserID: call.Principal.UserID, RevokeKeys: in.RevokeKeys,
	}))
}
