package management

import (
	"context"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/internal/tenant/session"
)

// Accounts are the operations of people's own accounts.
type Accounts struct{ Service *session.Service }

// Resource returns the rows.
func (a *Accounts) Resource() rpc.Resource {
	return rpc.Resource{
		Name: "account", Summary: "One's own account.",
		Failures: accountFailures,
		Operations: []rpc.Operation{
			rpc.Op(rpc.Spec{
				Name: "sendVerification", Summary: "Have the token mailed that verifies one's address",
				Class: auth.Account, Limit: ratelimit.SignIn, Audit: "user.emailVerificationRequested",
				Detail: "The token is good for 24 hours, for account/verifyEmail; three are mailed at once, and one " +
					"more every 20 minutes. An address that is verified is answered 409. Where the installation " +
					"sends no mail the answer is 403: nothing needs a verified address there.",
			}, a.sendVerification),
			rpc.Op(rpc.Spec{
				Name: "verifyEmail", Summary: "Verify one's address with a mailed token",
				Class: auth.Account, Limit: ratelimit.SignIn, Audit: "user.emailVerified",
				Detail: "The token has to be one that was mailed for the person who is signed in. Only who has a " +
					"verified address may have invitations mailed. The first account of an installation, those that " +
					"the operator makes and those by a mailed invitation are verified from the beginning; setting a " +
					"new password with a mailed token verifies an address too.",
			}, a.verifyEmail),
			rpc.Op(rpc.Spec{
				Name: "delete", Summary: "Delete one's own account",
				Class: auth.Account, Limit: ratelimit.SignIn, Audit: "user.deleted",
				Detail: "It ends the person's sessions, their places and the invitations that they made, and " +
					"organizations of which they are the only member and that have no website. The answer is 409, " +
					"and names them, while they are the only owner of organizations with other members or websites. " +
					"API keys belong to their organization: those that the person made stay, with their id as " +
					"createdBy, and are for its admins to revoke. The audit keeps its entries. A wrong password " +
					"counts as a failed sign-in of this client.",
			}, a.delete),
		},
	}
}

func (a *Accounts) sendVerification(ctx context.Context, call *rpc.Call, _ *rpc.Empty) (*rpc.Empty, error) {
	return &rpc.Empty{}, a.Service.SendVerification(ctx, callerOf(call), call.User)
}

type verifyInput struct {
	Token string `json:"token" minLength:"1" maxLength:"64"`
}

func (a *Accounts) verifyEmail(ctx context.Context, call *rpc.Call, in *verifyInput) (*userBody, error) {
	u, err := a.Service.VerifyEmail(ctx, callerOf(call), call.User, in.Token)
	if err != nil {
		return nil, err
	}
	body := newUserBody(u)
	return &body, nil
}

type deleteAccountInput struct {
	Password string `json:"password" minLength:"1" maxLength:"1024" doc:"The account's present password."`
}

func (a *Accounts) delete(ctx context.Context, call *rpc.Call, in *deleteAccountInput) (*rpc.Empty, error) {
	if err := a.Service.DeleteAccount(ctx, callerOf(call), call.User, in.Password); err != nil {
		return nil, err
	}
	call.EndSession()
	call.ForgetDevice()
	return &rpc.Empty{}, nil
}
