package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/token"
)

// VerificationLife is how long the token that verifies an address is good for.
const VerificationLife = 24 * time.Hour

// Verification waits for a user to show that they read the mail of their address, by its
// token.
type Verification struct {
	UserID    string
	TokenHash token.Hash
	CreatedAt time.Time
	ExpiresAt time.Time
}

// NewVerification makes a verification and its token.
func NewVerification(userID string, now time.Time) (*Verification, string) {
	text, hash := token.New()
	return &Verification{UserID: userID, TokenHash: hash, CreatedAt: now, ExpiresAt: now.Add(VerificationLife)}, text
}

// SendVerification mails a signed-in user a token for VerifyEmail. It is ErrVerified for
// a user who needs none, a RateLimited error for an address that got several lately, and a
// Forbidden error where no mail can be sent.
func (s *Service) SendVerification(ctx context.Context, c Caller, u *org.User) error {
	switch {
	case u.Verified():
		return ErrVerified
	case s.deps.Mail == nil:
		return &apierr.Error{
			Code: apierr.Forbidden, Message: "This installation sends no e-mail, and no operation requires a verified address",
		}
	}
	charge := ofAccount(Allowances.AccountVerifications, "verification", u.Email)
	if err := s.attempt(ctx, charge); err != nil {
		return err
	}
	v, text := NewVerification(u.ID, s.now())
	if err := s.deps.Credentials.CreateVerification(ctx, c.by(u), v); err != nil {
		s.refund(ctx, charge)
		return err
	}
	subject, body := verificationMail(s.cfg.PublicURL, text, v.ExpiresAt)
	if err := s.deps.Mail.Send(ctx, u.Email, subject, body); err != nil {
		s.refund(ctx, charge)
		return apierr.Wrap(apierr.ServiceUnavailable, fmt.Errorf("sending a verification token: %w", err))
	}
	return nil
}

// beginVerification mails somebody who has just signed up a token, if that can be done:
// they may ask for another.
func (s *Service) beginVerification(ctx context.Context, c Caller, u *org.User) {
	if s.deps.Mail == nil || u.Verified() {
		return
	}
	if err := s.SendVerification(ctx, c, u); err != nil && !apierr.Is(err, apierr.RateLimited) {
		s.deps.Log.LogAttrs(ctx, slog.LevelWarn, "mailing a verification token failed", slog.Any("error", err))
	}
}

// VerifyEmail verifies the address of a signed-in user by a mailed token. It has to be the
// user's own: whoever is mailed one for an account that a stranger made is not to verify
// the stranger's. Any other is a Validation error, and ErrVerified is for a user who needs
// none.
func (s *Service) VerifyEmail(ctx context.Context, c Caller, u *org.User, text string) (*org.User, error) {
	if u.Verified() {
		return nil, ErrVerified
	}
	err, now := ErrVerificationNotFound, s.now()
	if token.WellFormed(text) {
		err = s.deps.Credentials.VerifyEmail(ctx, c.by(u), u.ID, token.HashOf(text), now)
	}
	if errors.Is(err, ErrVerificationNotFound) {
		return nil, apierr.Invalid("token", "invalid_value",
			"token is unknown, expired, already used or another user's; request a new one")
	}
	if err != nil {
		return nil, err
	}
	verified := *u
	verified.VerifiedAt = now
	return &verified, nil
}
