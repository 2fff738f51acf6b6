package management

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/internal/tenant/session"
)

// Sessions are the operations of signing in and out.
type Sessions struct{ Service *session.Service }

// accountFailures are the errors of the resources that are about an account.
var accountFailures = []rpc.Failure{
	{Err: session.ErrNotFound, Code: apierr.NotFound, Message: "Session not found"},
	{Err: session.ErrPasswordChanged, Code: apierr.Conflict, Message: "The password has changed since it was read"},
	{Err: session.ErrVerified, Code: apierr.Conflict, Message: "The e-mail address is already verified"},
	{Err: org.ErrEmailTaken, Code: apierr.Conflict, Message: "An account with this e-mail address already exists"},
	{
		Err:     org.ErrInvitationNotFound,
		Code:    apierr.NotFound,
		Message: "The invitation is unknown, expired, already used or for another e-mail address",
	},
	{Err: org.ErrTooManyMemberships, Code: apierr.Conflict, Message: "You have reached the limit of organizations"},
}

// Resource returns the rows.
func (s *Sessions) Resource() rpc.Resource {
	return rpc.Resource{
		Name: "session", Summary: "Sign-up, sign-in, sign-out and the sessions of the signed-in user.",
		Failures: accountFailures,
		Operations: []rpc.Operation{
			rpc.Op(rpc.Spec{
				Name: "signUp", Summary: "Create an account and sign in", Class: auth.Public, Limit: ratelimit.SignIn,
				Audit: "user.created", Creates: true,
				Detail: "The setting session.sign_up controls whether anyone, only invited people or no one can sign up. With an " +
					"invitation, the user joins the inviting organization; otherwise the call creates an organization. The response " +
					"sets the session cookie. If the installation sends e-mail, a token for account/verifyEmail is mailed to the " +
					"address, unless the invitation was mailed there.",
			}, s.signUp),
			rpc.Op(rpc.Spec{
				Name: "signIn", Summary: "Sign in with a password", Class: auth.Public, Limit: ratelimit.SignIn,
				Audit: "session.created",
				Detail: "The response sets the session cookie and ends the session that the request came with. An unknown " +
					"address and a wrong password get the same response. After ten recent failures for an account from one network, " +
					"thirty from one network or a hundred for one account, further attempts return 429 for some time, whether the " +
					"account exists or not. The response also sets a second cookie for 180 days: for a client with this cookie, or " +
					"with a session of the account, only its own failures count, with a limit of ten. The audits of the account's " +
					"organizations record failures as user.signInFailed.",
			}, s.signIn),
			rpc.Op(rpc.Spec{
				Name: "signOut", Summary: "End the current session", Class: auth.Public, Audit: "session.ended",
				Detail: "The response removes the cookie. Without a session the call changes nothing.",
			}, s.signOut),
			rpc.Op(rpc.Spec{
				Name: "get", Summary: "Get the signed-in user", Class: auth.Account,
				Detail: "Returns the user of the session cookie and the user's organizations.",
			}, s.get),
			rpc.Op(rpc.Spec{
				Name: "list", Summary: "List your sessions", Class: auth.Account,
				Detail: "Newest first; at most 100, on one page.",
			}, s.list),
			rpc.Op(rpc.Spec{
				Name: "end", Summary: "End one of your sessions", Class: auth.Account, Audit: "session.ended",
			}, s.end),
			rpc.Op(rpc.Spec{
				Name: "endOthers", Summary: "End all of your sessions except the current one", Class: auth.Account,
				Audit: "session.ended",
			}, s.endOthers),
		},
	}
}

type signUpInput struct {
	Email        string `json:"email" minLength:"3" maxLength:"254"`
	Password     string `json:"password" minLength:"8" maxLength:"1024" doc:"At most 1024 bytes."`
	Name         string `json:"name" minLength:"1" maxLength:"100" doc:"Name of the user that others see."`
	Organization string `json:"organization,omitempty" minLength:"1" maxLength:"100" doc:"Name of the organization that the call creates; the user's name if absent. Ignored with an invitation."`
	Invitation   string `json:"invitation,omitempty" minLength:"1" maxLength:"64" doc:"Token of an invitation for this e-mail address."`
}

type signInInput struct {
	Email    string `json:"email" minLength:"1" maxLength:"254"`
	Password string `json:"password" minLength:"1" maxLength:"1024"`
}

type sessionBody struct {
	ID            string           `json:"id" doc:"Id of the session."`
	User          userBody         `json:"user"`
	Organizations []membershipBody `json:"organizations" doc:"Memberships of the user, oldest first. Other calls select an organization with organizationId if the user has several."`
}

type userBody struct {
	ID        string    `json:"id"`
	Email     string    `json:"email"`
	Name      string    `json:"name"`
	CreatedAt *rpc.Time `json:"createdAt"`
	// Verified or not, both are there.
	EmailVerified bool      `json:"emailVerified" doc:"Whether the e-mail address is verified."`
	VerifiedAt    *rpc.Time `json:"verifiedAt" nullable:"true" doc:"Time at which the address was verified; null while it is not."`
}

func newUserBody(u *org.User) userBody {
	return userBody{
		ID: u.ID, Email: u.Email, Name: u.Name, CreatedAt: rpc.At(u.CreatedAt),
		EmailVerified: u.Verified(), VerifiedAt: rpc.At(u.VerifiedAt),
	}
}

type membershipBody struct {
	ID   string `json:"id" doc:"Id of the organization."`
	Name string `json:"name" doc:"Name of the organization."`
	Role string `json:"role" enum:"owner,admin,editor,viewer"`
}

func newMembershipBody(p org.Membership) membershipBody {
	return membershipBody{ID: p.OrganizationID, Name: p.Organization, Role: string(p.Role)}
}

// callerOf is the client of a call to the session service.
func callerOf(call *rpc.Call) session.Caller {
	return session.Caller{Addr: call.Client, By: call.By, Token: call.SessionToken, Device: call.DeviceToken}
}

func (s *Sessions) signUp(ctx context.Context, call *rpc.Call, in *signUpInput) (*sessionBody, error) {
	return s.opened(ctx, call)(s.Service.SignUp(ctx, callerOf(call), session.NewAccount{
		Email: in.Email, Name: in.Name, Password: in.Password, Organization: in.Organization, Invitation: in.Invitation,
	}))
}

func (s *Sessions) signIn(ctx context.Context, call *rpc.Call, in *signInInput) (*sessionBody, error) {
	return s.opened(ctx, call)(s.Service.SignIn(ctx, callerOf(call), in.Email, in.Password))
}

// opened answers a call that has begun a session.
func (s *Sessions) opened(ctx context.Context, call *rpc.Call) func(*session.Opened, error) (*sessionBody, error) {
	return func(o *session.Opened, err error) (*sessionBody, error) {
		if err != nil {
			return nil, err
		}
		startSession(call, o)
		return s.body(ctx, o.Session.ID, o.User)
	}
}

func startSession(call *rpc.Call, o *session.Opened) {
	// Whole seconds, as a cookie has them: a session is as good as a cookie at least.
	call.StartSession(o.Token, o.Session.ExpiresAt.Sub(o.Session.CreatedAt).Truncate(time.Second))
	keepDevice(call, o.Device)
}

func keepDevice(call *rpc.Call, token string) {
	if token != "" {
		call.KeepDevice(token, session.DeviceLife)
	}
}

func (s *Sessions) body(ctx context.Context, sessionID string, u *org.User) (*sessionBody, error) {
	memberships, err := s.Service.Memberships(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	body := &sessionBody{
		ID:            sessionID,
		User:          newUserBody(u),
		Organizations: make([]membershipBody, len(memberships)),
	}
	for i, p := range memberships {
		body.Organizations[i] = newMembershipBody(p)
	}
	return body, nil
}

func (s *Sessions) signOut(ctx context.Context, call *rpc.Call, _ *rpc.Empty) (*rpc.Empty, error) {
	if err := s.Service.SignOut(ctx, callerOf(call)); err != nil {
		return nil, err
	}
	call.EndSession()
	return &rpc.Empty{}, nil
}

func (s *Sessions) get(ctx context.Context, call *rpc.Call, _ *rpc.Empty) (*sessionBody, error) {
	return s.body(ctx, call.Principal.SessionID, call.User)
}

type sessionRecord struct {
	ID         string    `json:"id"`
	Current    bool      `json:"current" doc:"Whether it is the session of this call."`
	IP         string    `json:"ip" doc:"IP address of the client that signed in."`
	UserAgent  string    `json:"userAgent" doc:"User agent of the client that signed in."`
	CreatedAt  *rpc.Time `json:"createdAt"`
	LastSeenAt *rpc.Time `json:"lastSeenAt" doc:"Time of the last use, accurate to a few minutes."`
	ExpiresAt  *rpc.Time `json:"expiresAt" doc:"Time at which the session expires regardless of its use."`
}

func (s *Sessions) list(ctx context.Context, call *rpc.Call, _ *rpc.Empty) (*rpc.List[sessionRecord], error) {
	all, err := s.Service.List(ctx, call.Principal.UserID)
	if err != nil {
		return nil, err
	}
	records := make([]sessionRecord, len(all))
	for i := range all {
		records[i] = sessionRecord{
			ID: all[i].ID, Current: all[i].ID == call.Principal.SessionID, IP: all[i].IP, UserAgent: all[i].UserAgent,
			CreatedAt: rpc.At(all[i].CreatedAt), LastSeenAt: rpc.At(all[i].SeenAt), ExpiresAt: rpc.At(all[i].ExpiresAt),
		}
	}
	return rpc.Cut(records, session.MaxSessions, func(r sessionRecord) any { return r.ID }), nil
}

func (s *Sessions) end(ctx context.Context, call *rpc.Call, in *rpc.ID) (*rpc.Empty, error) {
	if err := s.Service.End(ctx, call.By, call.Principal.UserID, in.ID); err != nil {
		return nil, err
	}
	if in.ID == call.Principal.SessionID {
		call.EndSession()
	}
	return &rpc.Empty{}, nil
}

type endedBody struct {
	Ended int `json:"ended" doc:"Number of sessions that were ended."`
}

func (s *Sessions) endOthers(ctx context.Context, call *rpc.Call, _ *rpc.Empty) (*endedBody, error) {
	n, err := s.Service.EndOthers(ctx, call.By, call.Principal.UserID, call.Principal.SessionID)
	return &endedBody{n}, err
}
