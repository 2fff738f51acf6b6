package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/org"
)

type userRow struct {
	bun.BaseModel `bun:"table:users,alias:u"`

	ID           string  `bun:"id,pk"`
	Email        string  `bun:"email"`
	Name         string  `bun:"name"`
	PasswordHash string  `bun:"password_hash"`
	CreatedAt    instant `bun:"created_at"`
}

type memberRow struct {
	bun.BaseModel `bun:"table:members,alias:m"`

	OrganizationID string  `bun:"organization_id,pk"`
	UserID         string  `bun:"user_id,pk"`
	Role           string  `bun:"role"`
	CreatedAt      instant `bun:"created_at"`
}

// CreateUser adds a user. An address in use is org.ErrEmailTaken.
func (s *Store) CreateUser(ctx context.Context, u *org.User) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	row := userRow{ID: u.ID, Email: u.Email, Name: u.Name, PasswordHash: u.PasswordHash, CreatedAt: at(u.CreatedAt)}
	_, err := s.write.NewInsert().Model(&row).Exec(ctx)
	if s.dialect.violation(err) == uniqueViolation {
		return org.ErrEmailTaken
	}
	if err != nil {
		return fmt.Errorf("adding user %s: %w", u.ID, err)
	}
	return nil
}

// UserByEmail returns the user with an address in its normal form, or
// org.ErrUserNotFound.
func (s *Store) UserByEmail(ctx context.Context, email string) (*org.User, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var row userRow
	err := s.read.NewSelect().Model(&row).Where("u.email = ?", email).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, org.ErrUserNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading a user by e-mail address: %w", err)
	}
	return &org.User{
		ID: row.ID, Email: row.Email, Name: row.Name,
		PasswordHash: row.PasswordHash, CreatedAt: row.CreatedAt.Time,
	}, nil
}

// AddMember gives a user a place in an organization. It returns
// org.ErrMemberExists for one who has a place, and org.ErrNotFound when the
// organization or the user does not exist.
func (s *Store) AddMember(ctx context.Context, m *org.Member) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	row := memberRow{OrganizationID: m.OrganizationID, UserID: m.UserID, Role: string(m.Role), CreatedAt: at(m.CreatedAt)}
	_, err := s.write.NewInsert().Model(&row).Exec(ctx)
	switch {
	case s.dialect.violation(err) == uniqueViolation:
		return org.ErrMemberExists
	case s.dialect.violation(err) == foreignKeyViolation:
		return org.ErrNotFound
	case err != nil:
		return fmt.Errorf("adding user %s to organization %s: %w", m.UserID, m.OrganizationID, err)
	}
	return nil
}

// ListMembers returns the members of an organization, first ones first.
func (s *Store) ListMembers(ctx context.Context, organizationID string) ([]org.Member, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []memberRow
	err := s.read.NewSelect().Model(&rows).Where("m.organization_id = ?", organizationID).
		Order("m.created_at", "m.user_id").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing members of organization %s: %w", organizationID, err)
	}
	members := make([]org.Member, len(rows))
	for i, r := range rows {
		members[i] = org.Member{
			OrganizationID: r.OrganizationID, UserID: r.UserID,
			Role: org.Role(r.Role), CreatedAt: r.CreatedAt.Time,
		}
	}
	return members, nil
}
