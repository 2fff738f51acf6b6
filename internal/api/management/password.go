package management

import (
	"context"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/internal/tenant/session"
)

// Passwords are the operations of people's own passwords.
type Passwords struct{ Service *session.Service }

// Resource returns the rows.
func (p *Passwords) Resource() rpc.Resource {
	return rpc.Resource{
		Name: "password", Summary: "Your own password.",
		Failures: accountFailures,
		Operations: []rpc.Operation{
			rpc.Op(rpc.Spec{
				Name: "change", Summary: "Change your password", Class: auth.Account, Limit: ratelimit.SignIn,
				Audit: "user.passwordChanged",
				Detail: "Ends all sessions of the user; the response sets the cookie of a new one. A wrong currentPassword " +
					"counts as a failed sign-in of this client. Failures of other clients do not block this call.",
			}, p.change),
			rpc.Op(rpc.Spec{
				Name: "forgot", Summary: "Request a password reset", Class: auth.Public,
				Limit: ratelimit.SignIn,
				Audit: "user.passwordResetRequested",
				Detail: "Mails a token that is valid for an hour. The response and its timing do not reveal whether the account " +
					"exists. Returns 403 if the installation sends no e-mail.",
			}, p.forgot),
			rpc.Op(rpc.Spec{
				Name: "reset", Summary: "Set a new password with a mailed token", Class: auth.Public, Limit: ratelimit.SignIn,
				Audit: "user.passwordReset",
				Detail: "Ends all sessions of the user and invalidates the other reset tokens. It does not sign the user in. The " +
					"response sets the cookie that identifies this client to the account, so that failed sign-ins of other clients " +
					"do not block it.",
			}, p.reset),
		},
	}
}

type changeInput struct {
	CurrentPassword string `json:"currentPassword" minLength:"1" maxLength:"1024"`
	NewPassword     string `json:"newPassword" minLength:"8" maxLength:"1024" doc:"At most 1024 bytes."`
}

type changedBody struct {
	SessionID string `json:"sessionId" doc:"The new session."`
}

func (p *Passwords) change(ctx context.Context, call *rpc.Call, in *changeInput) (*changedBody, error) {
	o, err := p.Service.ChangePassword(ctx, callerOf(call), call.User, in.CurrentPassword, in.NewPassword)
	if err != nil {
		return nil, err
	}
	startSession(call, o)
	return &changedBody{o.Session.ID}, nil
}

type forgotInput struct {
	Email string `json:"email" minLength:"3" maxLength:"254"`
}

func (p *Passwords) forgot(ctx context.Context, call *rpc.Call, in *forgotInput) (*rpc.Empty, error) {
	return &rpc.Empty{}, p.Service.ForgotPassword(ctx, callerOf(call), in.Email)
}

type resetInput struct {
	Token       string `json:"token" minLength:"1" maxLength:"64"`
	NewPassword string `json:"newPassword" minLength:"8" maxLength:"1024" doc:"At most 1024 bytes."`
}

func (p *Passwords) reset(ctx context.Context, call *rpc.Call, in *resetInput) (*rpc.Empty, error) {
	device, err := p.Service.ResetPassword(ctx, callerOf(call), in.Token, in.NewPassword)
	if err != nil {
		return nil, err
	}
	keepDevice(call, device)
	return &rpc.Empty{}, nil
}
