package session

import (
	"context"
	"log/slog"

	"github.com/millrace/millrace/internal/tenant/org"
)

// DeleteAccount deletes the account of a signed-in user who knows its password: sessions,
// memberships and the invitations that they made end, and organizations that are theirs alone
// and have no website. It is a Conflict error that names them where organizations with
// other members or websites have no other owner. A wrong password is a Validation error,
// and counts as for ChangePassword.
func (s *Service) DeleteAccount(ctx context.Context, c Caller, u *org.User, password string) error {
	if err := s.confirm(ctx, c, u, "password", password); err != nil {
		return err
	}
	if err := s.deps.Accounts.DeleteAccount(ctx, c.by(u), u, s.now()); err != nil {
		return err
	}
	if s.deps.Mail == nil || !u.Verified() {
		return nil
	}
	subject, body := deletedMail(s.cfg.PublicURL, s.now())
	if err := s.deps.Mail.Send(ctx, u.Email, subject, body); err != nil {
		s.deps.Log.LogAttrs(ctx, slog.LevelWarn, "mailing the notice of a deleted account failed", slog.Any("error", err))
	}
	return nil
}
