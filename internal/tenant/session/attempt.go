package session

import (
	"context"
	"errors"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/fair"
	"github.com/millrace/millrace/internal/tenant/attempt"
	"github.com/millrace/millrace/internal/tenant/token"
)

// Allowances is the table of attempts: what is tried, counted for whom. A sign-in
// that succeeds is not counted.
//
// Guesses at a password are counted apart for each client that the account knows, by a
// device's cookie or a session: those of nobody else keep it out. All others are counted
// by network, by account, and by account and network. The last is what a guesser uses up
// first, and it keeps out nobody elsewhere; that of the account is far looser, against
// guesses from many networks.
var Allowances = struct {
	NetworkAccountSignIns, AccountSignIns, AddressSignIns, KnownSignIns attempt.Allowance

	AccountResets, AddressResets attempt.Allowance
	AddressResetTokens           attempt.Allowance
	AddressSignUps               attempt.Allowance
	AccountVerifications         attempt.Allowance
}{
	NetworkAccountSignIns: attempt.Allowance{Burst: 10, Interval: 90 * time.Second},
	AccountSignIns:        attempt.Allowance{Burst: 100, Interval: 30 * time.Second},
	AddressSignIns:        attempt.Allowance{Burst: 30, Interval: 20 * time.Second},
	KnownSignIns:          attempt.Allowance{Burst: 10, Interval: 90 * time.Second},

	AccountResets:      attempt.Allowance{Burst: 3, Interval: 20 * time.Minute},
	AddressResets:      attempt.Allowance{Burst: 10, Interval: 2 * time.Minute},
	AddressResetTokens: attempt.Allowance{Burst: 30, Interval: 20 * time.Second},
	AddressSignUps:     attempt.Allowance{Burst: 10, Interval: 6 * time.Minute},

	AccountVerifications: attempt.Allowance{Burst: 3, Interval: 20 * time.Minute},
}

// attempt charges, and returns a RateLimited error for who has to wait.
func (s *Service) attempt(ctx context.Context, charges ...attempt.Charge) error {
	err := attempt.Take(ctx, s.deps.Attempts, s.now(), charges...)
	if apierr.Is(err, apierr.RateLimited) {
		s.metrics.rejected.Inc()
	}
	return err
}

// RecentFor is how long hashing keeps a share for a network after a sign-in from it.
const RecentFor = 7 * 24 * time.Hour

// known is the share of hashing of a client that an account knows, and of one with a token
// that was mailed to it. Accounts take turns, so that nobody's own account is a way to the
// share of others.
func known(email string) fair.Owner { return fair.Owner{Tenant: "known", Name: email} }

// unknown is the share of all other clients. Networks take turns, and those from which
// somebody signed in lately have a share apart from strangers.
func (s *Service) unknown(c Caller) fair.Owner {
	network := attempt.Network(c.Addr)
	if s.recent.Has(network, s.now()) {
		return fair.Owner{Tenant: "recent", Name: network}
	}
	return fair.Owner{Tenant: "stranger", Name: network}
}

// guess returns what a guess of a client at the password of an address is charged to, and
// whose share of hashing it uses.
func (s *Service) guess(ctx context.Context, c Caller, email string) ([]attempt.Charge, fair.Owner, error) {
	client, err := s.client(ctx, c, email)
	if err != nil {
		return nil, fair.Owner{}, err
	}
	if client != "" {
		return []attempt.Charge{attempt.Of(Allowances.KnownSignIns, "sign-in known", client)}, known(email), nil
	}
	return []attempt.Charge{
		ofAddress(Allowances.AddressSignIns, "sign-in", c),
		ofAccount(Allowances.AccountSignIns, "sign-in", email),
		ofAccount(Allowances.NetworkAccountSignIns, "sign-in "+attempt.Network(c.Addr), email),
	}, s.unknown(c), nil
}

// client names the device or the session by which the account of an address knows a
// client; empty for none.
func (s *Service) client(ctx context.Context, c Caller, email string) (string, error) {
	if token.WellFormed(c.Device) {
		known, err := s.deps.Devices.KnowsDevice(ctx, token.HashOf(c.Device), email, s.now().Add(-DeviceLife))
		if err != nil || known {
			return "device " + c.Device, err
		}
	}
	if !token.WellFormed(c.Token) {
		return "", nil
	}
	found, u, _, err := s.deps.Sessions.SessionByHash(ctx, token.HashOf(c.Token))
	switch {
	case errors.Is(err, ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	case u.Email != email || !found.Live(s.cfg.Lifetimes, s.now()):
		return "", nil
	}
	return "session " + c.Token, nil
}

func ofAccount(a attempt.Allowance, what, email string) attempt.Charge {
	return attempt.Of(a, what+" account", email)
}

func ofAddress(a attempt.Allowance, what string, c Caller) attempt.Charge {
	return attempt.Of(a, what+" address", attempt.Network(c.Addr))
}
