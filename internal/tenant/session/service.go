package session

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/fair"
	"github.com/millrace/millrace/internal/tenant/attempt"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/token"
)

// Sessions keeps sessions.
type Sessions interface {
	// CreateSession keeps a session of a user, and ends the user's oldest beyond
	// MaxSessions. It is ErrPasswordChanged when the password is not any more that
	// of u.
	CreateSession(ctx context.Context, by audit.By, u *org.User, s *Session) error
	// SessionByHash returns a session, its user and the user's memberships, oldest
	// first; ErrNotFound when no token of that hash opens one.
	SessionByHash(ctx context.Context, hash token.Hash) (*Session, *org.User, []org.Member, error)
	TouchSession(ctx context.Context, id string, seenAt time.Time) error
	ListSessions(ctx context.Context, userID string) ([]Session, error)
	EndSession(ctx context.Context, by audit.By, userID, id string, now time.Time) error
	// EndSessions ends all sessions of a user but one and returns how many.
	EndSessions(ctx context.Context, by audit.By, userID, except string, now time.Time) (int, error)
	// RecordRejectedPassword remembers a wrong password for the account of an address,
	// by the name of what was tried; without such an account it does nothing.
	RecordRejectedPassword(ctx context.Context, by audit.By, email, action string, now time.Time) error
	// Prune removes what is past: sessions not used since idle, permissions,
	// verifications, invitations, devices and attempts.
	Prune(ctx context.Context, now, idle time.Time) error
}

// Accounts keeps people.
type Accounts interface {
	UserByEmail(ctx context.Context, email string) (*org.User, error)
	CreateAccount(ctx context.Context, by audit.By, u *org.User, o *org.Organization) error
	// CreateInvited verifies the address of u where the invitation was mailed.
	CreateInvited(ctx context.Context, by audit.By, u *org.User, invitation token.Hash) error
	ListMemberships(ctx context.Context, userID string) ([]org.Membership, error)
	// DeleteAccount deletes a user whose password is still that of u, with what is theirs
	// alone. It is a Conflict error where an organization needs them, and
	// ErrPasswordChanged for another password.
	DeleteAccount(ctx context.Context, by audit.By, u *org.User, now time.Time) error
}

// Credentials keeps what people prove themselves with: passwords, and the tokens that are
// mailed to them.
type Credentials interface {
	SetPassword(ctx context.Context, by audit.By, userID, was, passwordHash string, now time.Time, next *Session) error
	CreateReset(ctx context.Context, by audit.By, r *Reset) error
	ResetUser(ctx context.Context, hash token.Hash, now time.Time) (*org.User, error)
	ResetPassword(ctx context.Context, by audit.By, hash token.Hash, passwordHash string, now time.Time) error
	CreateVerification(ctx context.Context, by audit.By, v *Verification) error
	// VerifyEmail verifies the address of a user by a token, which is
	// ErrVerificationNotFound unless it is theirs and not past.
	VerifyEmail(ctx context.Context, by audit.By, userID string, hash token.Hash, now time.Time) error
}

// Passwords hashes and verifies passwords, as org.Passwords does: the empty hash is
// that of an account which does not exist, and as much work as any other.
type Passwords interface {
	Hash(ctx context.Context, share fair.Owner, password string) (string, error)
	Verify(ctx context.Context, share fair.Owner, hash, password string) (bool, error)
}

// Mailer sends mails. Send does not wait for the mail server; an error means that
// the mail will not be sent.
type Mailer interface {
	Send(ctx context.Context, to, subject, text string) error
}

// SignUp says who may make an account.
type SignUp string

// Who may sign up.
const (
	SignUpOpen   SignUp = "open"   // anybody
	SignUpInvite SignUp = "invite" // who has an invitation
	SignUpOff    SignUp = "off"    // nobody
)

// Config holds the settings.
type Config struct {
	Lifetimes Lifetimes
	SignUp    SignUp
	// PublicURL is where people reach the query host, for mails.
	PublicURL string
}

// Deps are what a service works with.
type Deps struct {
	Sessions    Sessions
	Devices     Devices
	Accounts    Accounts
	Credentials Credentials
	Attempts    attempt.Store
	Passwords   Passwords
	// Mail is nil where no mail can be sent.
	Mail    Mailer
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Now     func() time.Time // nil means time.Now
}

// Service signs people in and out. It is safe for concurrent use. Run has to run
// for permissions to set a new password to be mailed, and for wrong passwords to be
// remembered.
type Service struct {
	cfg        Config
	deps       Deps
	metrics    metrics
	recent     *attempt.Recent // networks that signed in
	forgot     chan forgotten
	rejections chan rejected
}

// New returns a service.
func New(cfg Config, deps Deps) *Service {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	return &Service{
		cfg: cfg, deps: deps, metrics: newMetrics(deps.Metrics), recent: attempt.NewRecent(RecentFor),
		forgot: make(chan forgotten, maxForgotten), rejections: make(chan rejected, maxRejected),
	}
}

func (s *Service) now() time.Time { return s.deps.Now().UTC() }

// Caller is a client that is not signed in, or wants to sign in anew.
type Caller struct {
	Addr netip.Addr
	// By says where the call comes from; its actor is filled in once it is known.
	By audit.By
	// Token opens the session that the client has now; empty for none.
	Token string
	// Device is the token by which the client says that it was signed in from before;
	// empty for none.
	Device string
}

// by is the caller as a user.
func (c Caller) by(u *org.User) audit.By {
	by := c.By
	by.Actor = audit.Actor{Type: audit.User, ID: u.ID, Name: u.Email}
	return by
}

// Opened is a session that has begun.
type Opened struct {
	Session *Session
	Token   string // opens it; known to nobody else
	Device  string // the token that the client is known by from now on; empty keeps the one it has
	User    *org.User
}

var errWrong = &apierr.Error{Code: apierr.AuthRequired, Message: "Wrong e-mail address or password"}

// SignIn begins a session for whoever knows an account's password; the session
// that the client had ends. Anything else is one and the same AuthRequired error,
// after the same work. Who tries too often is told so by a RateLimited error,
// whether there is an account or not; a client that the account knows waits for no
// attempts but its own.
func (s *Service) SignIn(ctx context.Context, c Caller, email, password string) (*Opened, error) {
	if normal, err := org.NormalizeEmail(email); err == nil {
		email = normal // what is no address is nobody's
	}
	charges, share, err := s.guess(ctx, c, email)
	if err != nil {
		return nil, err
	}
	if err := s.attempt(ctx, charges...); err != nil {
		return nil, err
	}
	o, err := s.signIn(ctx, c, share, email, password)
	result := resultOK
	switch {
	case errors.Is(err, errWrong):
		s.metrics.signIns.WithLabelValues(resultWrong).Inc()
		by := c.By
		by.Actor = audit.Actor{Type: audit.System} // whoever it was
		s.noteRejected(by, email, actionSignInFailed)
		return nil, err
	case err != nil:
		result = resultReturned
	default:
		s.recent.Add(email, attempt.Network(c.Addr), s.now())
	}
	s.metrics.signIns.WithLabelValues(result).Inc()
	s.refund(ctx, charges...) // this was no guess
	return o, err
}

func (s *Service) signIn(ctx context.Context, c Caller, share fair.Owner, email, password string) (*Opened, error) {
	u, err := s.deps.Accounts.UserByEmail(ctx, email)
	hash := ""
	switch {
	case err == nil:
		hash = u.PasswordHash
	case !errors.Is(err, org.ErrUserNotFound):
		return nil, err
	}
	ok, err := s.deps.Passwords.Verify(ctx, share, hash, password)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, errWrong
	}
	o, err := s.open(ctx, c, u)
	if errors.Is(err, ErrPasswordChanged) {
		return nil, errWrong // it was right a moment ago
	}
	return o, err
}

// open begins a session and ends the one that the client had.
func (s *Service) open(ctx context.Context, c Caller, u *org.User) (*Opened, error) {
	next, text := newSession(u.ID, c.By.IP, c.By.UserAgent, s.cfg.Lifetimes, s.now())
	if err := s.deps.Sessions.CreateSession(ctx, c.by(u), u, next); err != nil {
		return nil, err
	}
	if err := s.SignOut(ctx, c); err != nil {
		return nil, err
	}
	return &Opened{Session: next, Token: text, Device: s.remember(ctx, c, u), User: u}, nil
}

// SignOut ends the session that the client has. A client without one is signed
// out already.
func (s *Service) SignOut(ctx context.Context, c Caller) error {
	if !token.WellFormed(c.Token) {
		return nil
	}
	old, u, _, err := s.deps.Sessions.SessionByHash(ctx, token.HashOf(c.Token))
	if err == nil {
		err = s.deps.Sessions.EndSession(ctx, c.by(u), u.ID, old.ID, s.now())
	}
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// SignedIn returns the session that a token opens, its user and the user's memberships
// in organizations, oldest first. A token that opens none, or none any more, is
// an AuthRequired error, and a store that cannot be asked a ServiceUnavailable
// one.
func (s *Service) SignedIn(
	ctx context.Context, text string,
) (sessionID string, user *org.User, memberships []org.Member, err error) {
	if !token.WellFormed(text) {
		return "", nil, nil, apierr.New(apierr.AuthRequired)
	}
	found, user, memberships, err := s.deps.Sessions.SessionByHash(ctx, token.HashOf(text))
	now := s.now()
	switch {
	case errors.Is(err, ErrNotFound), err == nil && !found.Live(s.cfg.Lifetimes, now):
		return "", nil, nil, apierr.New(apierr.AuthRequired)
	case err != nil:
		return "", nil, nil, apierr.Wrap(apierr.ServiceUnavailable, err)
	}
	if now.Sub(found.SeenAt) >= seenEvery {
		// A store that cannot be written to signs nobody out.
		if err := s.deps.Sessions.TouchSession(ctx, found.ID, now); err != nil {
			s.deps.Log.LogAttrs(ctx, slog.LevelWarn, "recording the last use of a session failed", slog.Any("error", err))
		}
	}
	return found.ID, user, memberships, nil
}

// Memberships returns the organizations of a user, oldest membership first.
func (s *Service) Memberships(ctx context.Context, userID string) ([]org.Membership, error) {
	return s.deps.Accounts.ListMemberships(ctx, userID)
}

// List returns the sessions of a user that open something, newest first; there
// are at most MaxSessions.
func (s *Service) List(ctx context.Context, userID string) ([]Session, error) {
	all, err := s.deps.Sessions.ListSessions(ctx, userID)
	live := all[:0]
	for i := range all {
		if all[i].Live(s.cfg.Lifetimes, s.now()) {
			live = append(live, all[i])
		}
	}
	return live, err
}

// End ends a session of a user, or returns ErrNotFound.
func (s *Service) End(ctx context.Context, by audit.By, userID, id string) error {
	return s.deps.Sessions.EndSession(ctx, by, userID, id, s.now())
}

// EndOthers ends every session of a user but one and returns how many.
func (s *Service) EndOthers(ctx context.Context, by audit.By, userID, except string) (int, error) {
	return s.deps.Sessions.EndSessions(ctx, by, userID, except, s.now())
}

// refund takes charges back. That it fails is no reason to reject anybody.
func (s *Service) refund(ctx context.Context, charges ...attempt.Charge) {
	if err := s.deps.Attempts.Refund(ctx, charges...); err != nil {
		s.deps.Log.LogAttrs(ctx, slog.LevelWarn, "refunding a rate limit attempt failed", slog.Any("error", err))
	}
}

// NewAccount is what somebody signs up with.
type NewAccount struct {
	Email, Name, Password string
	// Organization names the organization that the account begins with; empty
	// means one named after the person. It is not looked at with an invitation.
	Organization string
	// Invitation is the token of one; empty for none.
	Invitation string
}

// SignUp makes an account and begins its first session. A token is mailed that verifies
// the address, unless the invitation was mailed and so has done it. Where the settings do
// not let everybody sign up it is a Forbidden error, for an invitation that is
// past or another address's org.ErrInvitationNotFound, and for an address with an
// account org.ErrEmailTaken: whoever may sign up learns that much, and is
// throttled.
func (s *Service) SignUp(ctx context.Context, c Caller, in NewAccount) (*Opened, error) {
	if err := s.maySignUp(in); err != nil {
		return nil, err
	}
	if err := s.attempt(ctx, ofAddress(Allowances.AddressSignUps, "sign-up", c)); err != nil {
		return nil, err
	}
	hash, err := s.deps.Passwords.Hash(ctx, s.unknown(c), in.Password)
	if err != nil {
		return nil, err
	}
	u, err := org.NewUser(in.Email, in.Name, hash, s.now())
	if err != nil {
		return nil, err
	}
	if in.Invitation != "" {
		err = s.deps.Accounts.CreateInvited(ctx, c.by(u), u, token.HashOf(in.Invitation))
	} else {
		err = s.createAccount(ctx, c, u, in.Organization)
	}
	if err != nil {
		return nil, err
	}
	s.beginVerification(ctx, c, u)
	return s.open(ctx, c, u)
}

func (s *Service) maySignUp(in NewAccount) error {
	switch {
	case s.cfg.SignUp == SignUpOff:
		return &apierr.Error{Code: apierr.Forbidden, Message: "Sign-up is disabled on this installation; ask the operator " +
			"for an account"}
	case in.Invitation == "" && s.cfg.SignUp != SignUpOpen:
		return &apierr.Error{Code: apierr.Forbidden, Message: "Signing up requires an invitation"}
	case in.Invitation != "" && !token.WellFormed(in.Invitation):
		return org.ErrInvitationNotFound
	}
	return nil
}

func (s *Service) createAccount(ctx context.Context, c Caller, u *org.User, name string) error {
	if name == "" {
		name = u.Name
	}
	o, err := org.New(name, u.CreatedAt)
	if err != nil {
		return about("organization", err)
	}
	o.CreatedBy = u.ID
	return s.deps.Accounts.CreateAccount(ctx, c.by(u), u, o)
}
