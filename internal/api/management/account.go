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
		Name: "account", Summary: "Your own account.",
		Failures: accountFailures,
		Operations: []rpc.Operation{
			rpc.Op(rpc.Spec{
				Name: "sendVerification", Summary: "Request a token that verifies your e-mail address",
				Class: auth.Account, Limit: ratelimit.SignIn, Audit: "user.emailVerificationRequested",
				Detail: "Sends a token for account/verifyEmail to your e-mail address. The token is valid for 24 hours. Three " +
					"mails can be sent at once, and one more every 20 minutes. Returns 409 if the address is already verified. " +
					"Returns 403 if the installation sends no e-mail; no operation requires a verified address there.",
			}, a.sendVerification),
			rpc.Op(rpc.Spec{
				Name: "verifyEmail", Summary: "Verify your e-mail address with a mailed token",
				Class: auth.Account, Limit: ratelimit.SignIn, Audit: "user.emailVerified",
				Detail: "The token must have been mailed for the signed-in user. Only users with a verified address can have " +
					"invitations mailed. The first account of an installation, accounts that the operator creates and accounts " +
					"created with a mailed invitation are verified from the start. Setting a new password with a mailed token also " +
					"verifies the address.",
			}, a.verifyEmail),
			rpc.Op(rpc.Spec{
				Name: "delete", Summary: "Delete your own account",
				Class: auth.Account, Limit: ratelimit.SignIn, Audit: "user.deleted",
				Detail: "Ends the user's sessions, memberships and the invitations that they sent. Also deletes organizations " +
					"whose only member is the user and that have no website. Returns 409 with the names of the organizations if the " +
					"user is the only owner of organizations with other members or websites. API keys belong to their organization: " +
					"the keys that the user created remain, with the user's id as createdBy, until an admin revokes them. Audit " +
					"entries remain. A wrong password counts as a failed sign-in of this client.",
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
	Password string `json:"password" minLength:"1" maxLength:"1024" doc:"The account's current password."`
}

func (a *Accounts) delete(ctx context.Context, call *rpc.Call, in *deleteAccountInput) (*rpc.Empty, error) {
	if err := a.Service.DeleteAccount(ctx, callerOf(call), call.User, in.Password); err != nil {
		return nil, err
	}
	call.EndSession()
	call.ForgetDevice()
	return &rpc.Empty{}, nil
}
