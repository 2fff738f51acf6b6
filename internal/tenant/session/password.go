package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/token"
)

// ChangePassword sets the password of a signed-in user who knows the present one.
// All sessions of the user end, their devices are forgotten, and a new session begins
// for the client. A wrong password is a Validation error and counts as a failed sign-in
// of a client that the account knows: nobody else's guesses keep the user from this.
func (s *Service) ChangePassword(
	ctx context.Context, c Caller, u *org.User, current, password string,
) (*Opened, error) {
	if err := s.confirm(ctx, c, u, "currentPassword", current); err != nil {
		return nil, err
	}
	hash, err := s.deps.Passwords.Hash(ctx, known(u.Email), password)
	if err != nil {
		return nil, about("newPassword", err)
	}
	next, text := newSession(u.ID, c.By.IP, c.By.UserAgent, s.cfg.Lifetimes, s.now())
	if err := s.deps.Credentials.SetPassword(ctx, c.by(u), u.ID, u.PasswordHash, hash, s.now(), next); err != nil {
		return nil, err
	}
	s.tellChanged(ctx, u)
	return &Opened{Session: next, Token: text, Device: s.remember(ctx, c, u), User: u}, nil
}

// confirm returns nil where a signed-in user has sent the account's password in a field.
func (s *Service) confirm(ctx context.Context, c Caller, u *org.User, field, password string) error {
	charges, share, err := s.guess(ctx, c, u.Email)
	if err != nil {
		return err
	}
	if err := s.attempt(ctx, charges...); err != nil {
		return err
	}
	ok, err := s.deps.Passwords.Verify(ctx, share, u.PasswordHash, password)
	if err == nil && !ok {
		s.noteRejected(c.by(u), u.Email, actionPasswordRejected)
		return apierr.Invalid(field, "wrong", field+" must be the account's password")
	}
	s.refund(ctx, charges...)
	return err
}

// about returns a Validation error as one about the field of another name.
func about(field string, err error) error {
	f, ok := errors.AsType[*apierr.Error](err)
	if !ok || f.Code != apierr.Validation || len(f.Details) != 1 {
		return err
	}
	rule, found := strings.CutPrefix(f.Message, f.Details[0].Field)
	if !found {
		return err
	}
	return apierr.Invalid(field, f.Details[0].Rule, field+rule)
}

// maxForgotten is how many requests for a new password wait to be mailed.
const maxForgotten = 256

// forgotten is one request for a new password.
type forgotten struct {
	email string
	by    audit.By
}

// ForgotPassword mails the permission to set a new password to an address, if it
// has an account. Which of both is the case shows neither in the response nor in
// how long it takes: the account is looked for later, by Run. Where no mail can
// be sent it is a Forbidden error.
func (s *Service) ForgotPassword(ctx context.Context, c Caller, email string) error {
	email, err := org.NormalizeEmail(email)
	if err != nil {
		return err
	}
	if s.deps.Mail == nil {
		return &apierr.Error{
			Code: apierr.Forbidden, Message: "This installation sends no e-mail; ask the operator for a new password",
		}
	}
	if err := s.attempt(ctx,
		ofAddress(Allowances.AddressResets, "reset", c), ofAccount(Allowances.AccountResets, "reset", email),
	); err != nil {
		return err
	}
	select {
	case s.forgot <- forgotten{email, c.By}:
		return nil
	default:
		s.metrics.dropped.Inc()
		return apierr.Wrap(apierr.ServiceUnavailable, errors.New("too many requests for a new password are waiting"))
	}
}

// ResetPassword sets a new password for whoever has the token of a permission,
// ends all sessions of the user and forgets their devices. It returns the token by which
// the account knows the client from now on, so that nobody's guesses keep out who reads
// the account's mail. The address counts as verified. Any other token is a Validation
// error.
func (s *Service) ResetPassword(ctx context.Context, c Caller, text, password string) (device string, err error) {
	charge := ofAddress(Allowances.AddressResetTokens, "reset token", c)
	if err := s.attempt(ctx, charge); err != nil {
		return "", err
	}
	u, err := s.resetPassword(ctx, c, text, password)
	if errors.Is(err, ErrResetNotFound) {
		return "", apierr.Invalid("token", "invalid_value", "token is unknown, expired or already used; request a new one")
	}
	s.refund(ctx, charge)
	if err != nil {
		return "", err
	}
	s.tellChanged(ctx, u)
	return s.remember(ctx, c, u), nil
}

func (s *Service) resetPassword(ctx context.Context, c Caller, text, password string) (*org.User, error) {
	if !token.WellFormed(text) {
		return nil, ErrResetNotFound
	}
	// First, so that a wrong token does not cost the work of hashing.
	u, err := s.deps.Credentials.ResetUser(ctx, token.HashOf(text), s.now())
	if err != nil {
		return nil, err
	}
	hash, err := s.deps.Passwords.Hash(ctx, known(u.Email), password)
	if err != nil {
		return nil, about("newPassword", err)
	}
	now := s.now()
	if err := s.deps.Credentials.ResetPassword(ctx, c.by(u), token.HashOf(text), hash, now); err != nil {
		return nil, err
	}
	if !u.Verified() {
		u.VerifiedAt = now // by that token
	}
	return u, nil
}

// tellChanged mails that a password was changed, so that the owner of a stolen
// session or mailbox notices. A stranger whose address somebody signed up with is told
// nothing: it would be a mail for each change that somebody likes to make.
func (s *Service) tellChanged(ctx context.Context, u *org.User) {
	if s.deps.Mail == nil || !u.Verified() {
		return
	}
	subject, body := changedMail(s.cfg.PublicURL, s.now())
	if err := s.deps.Mail.Send(ctx, u.Email, subject, body); err != nil {
		s.deps.Log.LogAttrs(ctx, slog.LevelWarn, "mailing the notice of a changed password failed", slog.Any("error", err))
	}
}

// Times of Run.
const (
	pruneEvery = time.Hour
	workTime   = 10 * time.Second // to find an account, and hand its mail over or remember something
)

// Run mails permissions to set a new password, remembers wrong ones and removes what is
// past, until ctx ends. What was asked for by then is still done.
func (s *Service) Run(ctx context.Context) error {
	prune := time.NewTicker(pruneEvery)
	defer prune.Stop()
	s.prune(ctx)
	for {
		select {
		case f := <-s.forgot:
			s.mailReset(ctx, f)
		case r := <-s.rejections:
			s.record(ctx, r)
		case <-prune.C:
			s.prune(ctx)
		case <-ctx.Done():
			s.drain(ctx)
			return nil
		}
	}
}

// drain does what waits.
func (s *Service) drain(ctx context.Context) {
	for {
		select {
		case f := <-s.forgot:
			s.mailReset(ctx, f)
		case r := <-s.rejections:
			s.record(ctx, r)
		default:
			return
		}
	}
}

func (s *Service) prune(ctx context.Context) {
	now := s.now()
	if err := s.deps.Sessions.Prune(ctx, now, now.Add(-s.cfg.Lifetimes.Idle)); err != nil && ctx.Err() == nil {
		s.deps.Log.LogAttrs(ctx, slog.LevelWarn, "removing expired sessions failed", slog.Any("error", err))
	}
}

func (s *Service) mailReset(ctx context.Context, f forgotten) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTime)
	defer cancel()
	err := s.tryMailReset(ctx, f)
	if err != nil && !errors.Is(err, org.ErrUserNotFound) {
		s.metrics.dropped.Inc()
		s.deps.Log.LogAttrs(ctx, slog.LevelWarn, "mailing a password reset token failed", slog.Any("error", err))
	}
}

func (s *Service) tryMailReset(ctx context.Context, f forgotten) error {
	u, err := s.deps.Accounts.UserByEmail(ctx, f.email)
	if err != nil {
		return err
	}
	r, text := NewReset(u.ID, s.now())
	by := f.by // whoever asks is not yet known to be the user
	by.Actor = audit.Actor{Type: audit.System}
	if err := s.deps.Credentials.CreateReset(ctx, by, r); err != nil {
		return err
	}
	subject, body := resetMail(s.cfg.PublicURL, text, r.ExpiresAt)
	if err := s.deps.Mail.Send(ctx, u.Email, subject, body); err != nil {
		return fmt.Errorf("sending the mail: %w", err)
	}
	return nil
}
