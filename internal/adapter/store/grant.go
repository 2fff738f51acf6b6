package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
)

// Change is InTx for a change that somebody makes: fn runs only where the caller's
// grant holds in the transaction, in which the call that it is of is noted too; see
// package idempotency. What could end the grant waits until the transaction has:
// changes of one organization, and of one person's account, come one after the other.
// Locks are taken in the order organization, user, API key, so that two changes do not
// wait for each other. Only accepting an invitation, restoring an organization and deleting
// one's account lock the user first: where the same person changes the same organization at
// that moment, PostgreSQL ends one of the two.
func (s *Store) Change(ctx context.Context, by audit.By, fn func(ctx context.Context, tx *Store) error) error {
	return s.InTx(ctx, func(ctx context.Context, tx *Store) error {
		if tx.judged { // once: a change may end what it rests on, such as one's own session
			return fn(ctx, tx)
		}
		if err := tx.judge(ctx, by.Grant); err != nil {
			return err
		}
		tx.judged = true
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return tx.noteChange(ctx)
	})
}

// judge returns the error of a grant that does not hold any more.
func (s *Store) judge(ctx context.Context, g *audit.Grant) error {
	if g == nil {
		return nil
	}
	gone := false
	if g.OrganizationID != "" {
		err := s.lockOrganization(ctx, g.OrganizationID, org.ErrNotFound)
		if gone = errors.Is(err, org.ErrNotFound); err != nil && !gone {
			return err
		}
	}
	found, err := s.standing(ctx, g)
	if err != nil {
		return err
	}
	if gone { // nobody has a membership in it, and no key is good
		found.Role, found.Good = "", found.Good && g.KeyID == ""
	}
	return g.Judge(found)
}

func (s *Store) standing(ctx context.Context, g *audit.Grant) (audit.Standing, error) {
	if g.KeyID != "" {
		return s.keyStanding(ctx, g)
	}
	return s.personStanding(ctx, g)
}

func (s *Store) keyStanding(ctx context.Context, g *audit.Grant) (found audit.Standing, err error) {
	if err := s.touch(ctx, (*keyRow)(nil), g.KeyID); err != nil {
		return found, err
	}
	k, err := s.KeyByID(ctx, g.KeyID)
	if errors.Is(err, apikey.ErrNotFound) {
		return found, nil
	}
	if err != nil {
		return found, err
	}
	return audit.Standing{
		Good:   k.OrganizationID == g.OrganizationID && k.Accepts(g.KeyHash, s.opts.Now()) && k.AllowsAddr(g.Addr),
		Scopes: k.Scopes,
	}, nil
}

func (s *Store) personStanding(ctx context.Context, g *audit.Grant) (found audit.Standing, err error) {
	if err := s.touch(ctx, (*userRow)(nil), g.UserID); err != nil {
		return found, err
	}
	sessions, err := s.write.NewSelect().Model((*sessionRow)(nil)).Where("s.id = ?", g.SessionID).
		Where("s.user_id = ?", g.UserID).
		Where("s.expires_at > ?", at(s.opts.Now())).Count(ctx)
	if err != nil {
		return found, fmt.Errorf("reading session %s: %w", g.SessionID, err)
	}
	found.Good = sessions > 0
	if g.OrganizationID == "" {
		return found, nil
	}
	var row memberRow
	err = s.write.NewSelect().Model(&row).Where("m.organization_id = ?", g.OrganizationID).Where(
		"m.user_id = ?", g.UserID).Scan(ctx)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return found, fmt.Errorf("reading member %s of organization %s: %w", g.UserID, g.OrganizationID, err)
	}
	found.Role = row.Role
	return found, nil
}

// touch keeps others who touch or change a user or an API key waiting until the
// transaction ends.
func (s *Store) touch(ctx context.Context, model any, id string) error {
	if _, err := s.write.NewUpdate().Model(model).Where("id = ?", id).Set("name = name").Exec(ctx); err != nil {
		return fmt.Errorf("locking %s: %w", id, err)
	}
	return nil
}
