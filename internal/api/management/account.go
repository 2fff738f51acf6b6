package management

import (
	"context"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/auth"
	"github.com/millrace/millrace/internal/ratelimit"
	"github.com/millrace/millrace/internal/session"
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
				Name: "sendVerification", Summary: "Have the token mailed that verifies one's address", Class: auth.Account, Limit: ratelimit.SignIn,
				Audit: "user.emailVerificationRequested",
				Detail: "The token is good for 24 hours, for account/verifyEmail; three are mailed at once, and one more every 20 minutes. " +
					"An address that is verified is answered 409. Where the installation sends no mail the answer is 403: nothing needs " +
					"a verified address there.",
			}, a.sendVerification),
			rpc.Op(rpc.Spec{
				Name: "verifyEmail", Summary: "Verify one's address with a mailed token", Class: auth.Account, Limit: ratelimit.SignIn,
				Audit: "user.emailVerified",
				Detail: "The token has to be one that was mailed for the person who is signed in. Only who has a verified address may have " +
					"invitations mailed. The first account of an installation, those that the operator makes and those by a mailed invitation " +
					"are verified from the beginning; setting a new password with a mailed token verifies an address too.",
			}, a.verifyEmail),
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
