package session

import (
	"context"
	"log/slog"
	"time"

	"github.com/millrace/millrace/internal/tenant/audit"
)

// Actions of the audit, on a user.
const (
	actionSignInFailed     = "signInFailed"    // a wrong password, at signing in
	actionPasswordRejected = "passwordRefused" // a wrong password, in a session of the user
)

// maxRejected is how many wrong passwords wait to be remembered.
const maxRejected = 1024

// rejected is one wrong password.
type rejected struct {
	email, action string
	by            audit.By
	at            time.Time
}

// noteRejected has Run remember a wrong password, where there is such an account: to do it
// here would tell by the time that the response takes whether there is one.
func (s *Service) noteRejected(by audit.By, email, action string) {
	by.Grant = nil // it changes nothing in the caller's name
	select {
	case s.rejections <- rejected{email, action, by, s.now()}:
	default:
		s.metrics.unrecorded.Inc()
	}
}

func (s *Service) record(ctx context.Context, r rejected) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTime)
	defer cancel()
	if err := s.deps.Sessions.RecordRejectedPassword(ctx, r.by, r.email, r.action, r.at); err != nil {
		s.metrics.unrecorded.Inc()
		s.deps.Log.LogAttrs(ctx, slog.LevelWarn, "recording a rejected password failed", slog.Any("error", err))
	}
}
