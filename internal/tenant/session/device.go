package session

import (
	"context"
	"log/slog"
	"time"

	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/token"
)

// Limits of devices.
const (
	// DeviceLife is how long an account knows a device after the last sign-in from it.
	DeviceLife = 180 * 24 * time.Hour
	// MaxDevices is how many devices an account knows; one more forgets the one that
	// was signed in from the longest ago.
	MaxDevices = 20
)

// Devices keeps the devices from which people have signed in: a browser or program is
// known by a token of its own, which opens nothing. It only has wrong passwords of others
// not count against who has it, and a share of hashing apart from theirs.
type Devices interface {
	// KnowsDevice reports whether the account of an address knows the device with a
	// token of that hash, from a sign-in after since.
	KnowsDevice(ctx context.Context, hash token.Hash, email string, since time.Time) (bool, error)
	// ReplaceDevice has a user know the device by the hash next and not by old any more,
	// which may be another user's or nobody's. It forgets the oldest beyond MaxDevices.
	ReplaceDevice(ctx context.Context, userID string, old, next token.Hash, now time.Time) error
}

// remember has the account of a user know the client, and returns its new token; empty
// where that failed, which is no reason to reject anybody.
func (s *Service) remember(ctx context.Context, c Caller, u *org.User) string {
	text, next := token.New()
	if err := s.deps.Devices.ReplaceDevice(ctx, u.ID, token.HashOf(c.Device), next, s.now()); err != nil {
		s.deps.Log.LogAttrs(ctx, slog.LevelWarn, "storing a known device failed", slog.Any("error", err))
		return ""
	}
	return text
}
