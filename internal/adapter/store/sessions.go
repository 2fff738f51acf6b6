package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/session"
	"github.com/millrace/millrace/internal/tenant/token"
)

type sessionRow struct {
	bun.BaseModel `bun:"table:sessions,alias:s"`

	ID        string  `bun:"id,pk"`
	UserID    string  `bun:"user_id"`
	Hash      []byte  `bun:"hash"`
	IP        string  `bun:"ip"`
	UserAgent string  `bun:"user_agent"`
	CreatedAt instant `bun:"created_at"`
	SeenAt    instant `bun:"seen_at"`
	ExpiresAt instant `bun:"expires_at"`
}

func (r *sessionRow) session() session.Session {
	s := session.Session{
		ID: r.ID, UserID: r.UserID, IP: r.IP, UserAgent: r.UserAgent,
		CreatedAt: r.CreatedAt.Time, SeenAt: r.SeenAt.Time, ExpiresAt: r.ExpiresAt.Time,
	}
	copy(s.Hash[:], r.Hash) // 32 bytes, which the schema checks
	return s
}

// CreateSession keeps a session of a user, and ends the user's oldest beyond
// session.MaxSessions. It is session.ErrPasswordChanged when the user's password
// is not any more that of u.
func (s *Store) CreateSession(ctx context.Context, by audit.By, u *org.User, next *session.Session) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		if err := tx.lockUser(ctx, u.ID, u.PasswordHash); err != nil {
			return err
		}
		row := sessionRow{
			ID: next.ID, UserID: u.ID, Hash: next.Hash[:], IP: next.IP, UserAgent: next.UserAgent,
			CreatedAt: at(next.CreatedAt), SeenAt: at(next.SeenAt), ExpiresAt: at(next.ExpiresAt),
		}
		if _, err := tx.write.NewInsert().Model(&row).Exec(ctx); err != nil {
			return fmt.Errorf("adding a session of user %s: %w", u.ID, err)
		}
		newest := tx.write.NewSelect().Model((*sessionRow)(nil)).Column("id").
			Where("s.user_id = ?", u.ID).Order("s.created_at DESC", "s.id DESC").Limit(session.MaxSessions)
		if _, err := tx.write.NewDelete().Model((*sessionRow)(nil)).
			Where("user_id = ?", u.ID).Where("id NOT IN (?)", newest).Exec(ctx); err != nil {
			return fmt.Errorf("ending the oldest sessions of user %s: %w", u.ID, err)
		}
		return tx.recordSession(ctx, by, next.ID, u, "created", next.CreatedAt)
	})
}

// SessionByHash returns a session with its user and the user's memberships, oldest
// first; session.ErrNotFound when no token of that hash opens one. Sessions that
// are past are returned: whether one opens anything is for Session.Live to say.
func (s *Store) SessionByHash(ctx context.Context, hash token.Hash) (*session.Session, *org.User, []org.Member, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var row sessionRow
	err := s.read.NewSelect().Model(&row).Where("s.hash = ?", hash[:]).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil, nil, session.ErrNotFound
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("reading a session: %w", err)
	}
	u, err := s.UserByID(ctx, row.UserID)
	if errors.Is(err, org.ErrUserNotFound) {
		return nil, nil, nil, session.ErrNotFound // the user was deleted just now
	}
	if err != nil {
		return nil, nil, nil, err
	}
	var members []memberRow
	if err := s.read.NewSelect().Model(&members).Where("m.user_id = ?", u.ID).Where(ownerLives, bun.Ident("m")).
		Order("m.created_at", "m.organization_id").Scan(ctx); err != nil {
		return nil, nil, nil, fmt.Errorf("reading the memberships of user %s: %w", u.ID, err)
	}
	memberships := make([]org.Member, len(members))
	for i := range members {
		memberships[i] = members[i].member()
	}
	found := row.session()
	return &found, u, memberships, nil
}

// TouchSession notes that a session was used; an earlier use changes nothing, and
// neither does one of a session that has ended.
func (s *Store) TouchSession(ctx context.Context, id string, seenAt time.Time) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	if _, err := s.write.NewUpdate().Model((*sessionRow)(nil)).Set("seen_at = ?", at(seenAt)).
		Where("id = ?", id).Where("seen_at < ?", at(seenAt)).Exec(ctx); err != nil {
		return fmt.Errorf("recording the use of session %s: %w", id, err)
	}
	return nil
}

// ListSessions returns the sessions of a user, newest first, past ones among
// them.
func (s *Store) ListSessions(ctx context.Context, userID string) ([]session.Session, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []sessionRow
	if err := s.read.NewSelect().Model(&rows).Where("s.user_id = ?", userID).
		Order("s.created_at DESC", "s.id DESC").Limit(session.MaxSessions).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing the sessions of user %s: %w", userID, err)
	}
	all := make([]session.Session, len(rows))
	for i := range rows {
		all[i] = rows[i].session()
	}
	return all, nil
}

// EndSession ends a session of a user; one that the user does not have is
// session.ErrNotFound.
func (s *Store) EndSession(ctx context.Context, by audit.By, userID, id string, now time.Time) error {
	n, err := s.endSessions(ctx, by, userID, now,
		func(q *bun.DeleteQuery) *bun.DeleteQuery { return q.Where("id = ?", id) })
	if err == nil && n == 0 {
		return session.ErrNotFound
	}
	return err
}

// EndSessions ends every session of a user but one, which may be empty, and
// returns how many.
func (s *Store) EndSessions(ctx context.Context, by audit.By, userID, except string, now time.Time) (int, error) {
	return s.endSessions(ctx, by, userID, now,
		func(q *bun.DeleteQuery) *bun.DeleteQuery { return q.Where("id <> ?", except) })
}

func (s *Store) endSessions(
	ctx context.Context, by audit.By, userID string, now time.Time, which func(*bun.DeleteQuery) *bun.DeleteQuery,
) (ended int, err error) {
	err = s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		u, err := tx.UserByID(ctx, userID)
		if errors.Is(err, org.ErrUserNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		// A change that rests on one of them is made whole before it ends.
		if err := tx.touch(ctx, (*userRow)(nil), userID); err != nil {
			return err
		}
		var ids []string
		q := tx.write.NewDelete().Model((*sessionRow)(nil)).Where("user_id = ?", userID)
		if _, err := which(q).Returning("id").Exec(ctx, &ids); err != nil {
			return fmt.Errorf("ending sessions of user %s: %w", userID, err)
		}
		for _, id := range ids {
			if err := tx.recordSession(ctx, by, id, u, "ended", now); err != nil {
				return err
			}
		}
		ended = len(ids)
		return nil
	})
	return ended, err
}

func (s *Store) recordSession(
	ctx context.Context, by audit.By, id string, u *org.User, action string, now time.Time,
) error {
	return s.recordPerson(ctx, u.ID, audit.New(by, "", "session", action, now).Of(id, u.Email))
}

// attemptsKept is how long a bucket stays that is empty.
const attemptsKept = 24 * time.Hour

// Prune removes what is past at now: sessions, also those not used since idle,
// permissions to set a password, verifications, invitations, devices, and attempts of the days before.
func (s *Store) Prune(ctx context.Context, now, idle time.Time) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	for _, p := range []struct {
		model any
		past  string
		until time.Time
	}{
		{(*sessionRow)(nil), "expires_at <= ?", now},
		{(*sessionRow)(nil), "seen_at <= ?", idle},
		{(*resetRow)(nil), "expires_at <= ?", now},
		{(*verificationRow)(nil), "expires_at <= ?", now},
		{(*invitationRow)(nil), "expires_at <= ?", now},
		{(*deviceRow)(nil), "seen_at <= ?", now.Add(-session.DeviceLife)},
		// Long past, so that nobody who tries just now waits for this and this for them.
		{(*attemptRow)(nil), "paid_until <= ?", now.Add(-attemptsKept)},
	} {
		if _, err := s.write.NewDelete().Model(p.model).Where(p.past, at(p.until)).Exec(ctx); err != nil {
			return fmt.Errorf("removing expired sessions: %w", err)
		}
	}
	return nil
}
