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
)

type memberRow struct {
	bun.BaseModel `bun:"table:members,alias:m"`

	OrganizationID string  `bun:"organization_id,pk"`
	UserID         string  `bun:"user_id,pk"`
	Role           string  `bun:"role"`
	CreatedAt      instant `bun:"created_at"`
}

func (r *memberRow) member() org.Member {
	return org.Member{
		OrganizationID: r.OrganizationID, UserID: r.UserID, Role: org.Role(r.Role), CreatedAt: r.CreatedAt.Time,
	}
}

// personRow is a member with columns of the user and of the organization.
type personRow struct {
	memberRow `bun:",extend"`

	Email        string `bun:"email,scanonly"`
	Name         string `bun:"name,scanonly"`
	Organization string `bun:"organization,scanonly"`
	// DeletedAt is the organization's, where it is asked for.
	DeletedAt instant `bun:"deleted_at,scanonly"`
}

func (r *personRow) person() org.Person {
	return org.Person{Member: r.member(), Email: r.Email, Name: r.Name}
}

// AddMember gives a user a membership in an organization. It returns
// org.ErrMemberExists for one who has a membership, org.ErrTooManyMemberships for one who
// has org.MaxMemberships, and org.ErrNotFound when the organization or the user does
// not exist.
func (s *Store) AddMember(ctx context.Context, by audit.By, m *org.Member) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		places, err := tx.write.NewSelect().Model((*memberRow)(nil)).Where("m.user_id = ?", m.UserID).Count(ctx)
		if err != nil {
			return fmt.Errorf("counting the memberships of user %s: %w", m.UserID, err)
		}
		if places >= org.MaxMemberships {
			return org.ErrTooManyMemberships
		}
		row := memberRow{OrganizationID: m.OrganizationID, UserID: m.UserID, Role: string(m.Role), CreatedAt: at(m.CreatedAt)}
		_, err = tx.write.NewInsert().Model(&row).Exec(ctx)
		switch {
		case tx.dialect.violation(err) == uniqueViolation:
			return org.ErrMemberExists
		case tx.dialect.violation(err) == foreignKeyViolation:
			return org.ErrNotFound
		case err != nil:
			return fmt.Errorf("adding user %s to organization %s: %w", m.UserID, m.OrganizationID, err)
		}
		p, err := tx.person(ctx, m.OrganizationID, m.UserID)
		if err != nil {
			return err
		}
		return tx.recordMember(ctx, by, p, "added", m.CreatedAt, map[string]audit.Change{"role": {To: string(m.Role)}})
	})
}

// ListPeople returns at most limit members of an organization in the order of
// their users' ids, those after the given one.
func (s *Store) ListPeople(ctx context.Context, organizationID, after string, limit int) ([]org.Person, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []personRow
	q := s.people(&rows).Where("m.organization_id = ?", organizationID)
	if err := page(q, "m.user_id", false, after, limit).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing members of organization %s: %w", organizationID, err)
	}
	people := make([]org.Person, len(rows))
	for i := range rows {
		people[i] = rows[i].person()
	}
	return people, nil
}

// ListMemberships returns the memberships of a user, oldest first.
func (s *Store) ListMemberships(ctx context.Context, userID string) ([]org.Membership, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []personRow
	if err := s.people(&rows).Where("m.user_id = ?", userID).Order("m.created_at",
		"m.organization_id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing the memberships of user %s: %w", userID, err)
	}
	memberships := make([]org.Membership, len(rows))
	for i := range rows {
		memberships[i] = org.Membership{Member: rows[i].member(), Organization: rows[i].Organization}
	}
	return memberships, nil
}

// SetRole changes the role of a member where check, which is told the role
// before, agrees; a role that the member has already changes nothing. It returns
// the error of check, org.ErrMemberNotFound, and org.ErrLastOwner when nobody
// else is an owner.
func (s *Store) SetRole(
	ctx context.Context, by audit.By, organizationID, userID string, role org.Role, now time.Time,
	check func(from org.Role) error,
) (*org.Person, error) {
	var p *org.Person
	err := s.Change(ctx, by, func(ctx context.Context, tx *Store) (err error) {
		if p, err = tx.memberToChange(ctx, organizationID, userID, check); err != nil || p.Role == role {
			return err
		}
		from := p.Role
		p.Role = role
		if _, err := tx.write.NewUpdate().Model((*memberRow)(nil)).Set("role = ?", string(role)).
			Where("organization_id = ?", organizationID).Where("user_id = ?", userID).Exec(ctx); err != nil {
			return fmt.Errorf("changing the role of member %s: %w", userID, err)
		}
		if err := tx.recordMember(ctx, by, p, "updated", now,
			map[string]audit.Change{"role": {From: string(from), To: string(role)}}); err != nil {
			return err
		}
		return tx.afterPowerLost(ctx, organizationID, userID, from, role)
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// RemoveMember takes a user's membership in an organization away, with the errors of
// SetRole. It returns the API keys that the user made in it, and revokes them where
// that is wanted.
func (s *Store) RemoveMember(
	ctx context.Context, by audit.By, d org.Departure, now time.Time, check func(from org.Role) error,
) (*org.MadeKeys, error) {
	var made *org.MadeKeys
	err := s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		p, err := tx.memberToChange(ctx, d.OrganizationID, d.UserID, check)
		if err != nil {
			return err
		}
		if _, err := tx.write.NewDelete().Model((*memberRow)(nil)).
			Where("organization_id = ?", d.OrganizationID).Where("user_id = ?", d.UserID).Exec(ctx); err != nil {
			return fmt.Errorf("removing member %s: %w", d.UserID, err)
		}
		if made, err = tx.keysLeft(ctx, by, d, now); err != nil {
			return err
		}
		changes := made.Changes(map[string]audit.Change{"role": {From: string(p.Role)}})
		if err := tx.recordMember(ctx, by, p, "removed", now, changes); err != nil {
			return err
		}
		return tx.afterPowerLost(ctx, d.OrganizationID, d.UserID, p.Role, "")
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

// keysLeft returns the API keys that a member who goes made.
func (s *Store) keysLeft(ctx context.Context, by audit.By, d org.Departure, now time.Time) (*org.MadeKeys, error) {
	which := madeBy(d.OrganizationID, d.UserID)
	if d.RevokeKeys {
		return s.revokeKeys(ctx, by, which, now)
	}
	return s.keysMade(ctx, which)
}

// memberToChange returns a member whom check lets be changed, and keeps others
// from changing members of the organization until the transaction ends: two
// owners who remove each other at once would leave none.
func (s *Store) memberToChange(
	ctx context.Context, organizationID, userID string, check func(from org.Role) error,
) (*org.Person, error) {
	if err := s.lockOrganization(ctx, organizationID, org.ErrMemberNotFound); err != nil {
		return nil, err
	}
	p, err := s.person(ctx, organizationID, userID)
	if err != nil {
		return nil, err
	}
	return p, check(p.Role)
}

// afterPowerLost sees to what hangs on a role that a member had: an owner is
// left, and the invitations that the member could not issue any more end.
func (s *Store) afterPowerLost(ctx context.Context, organizationID, userID string, from, to org.Role) error {
	if from == org.RoleOwner {
		owners, err := s.write.NewSelect().Model((*memberRow)(nil)).
			Where("m.organization_id = ?", organizationID).Where("m.role = ?", string(org.RoleOwner)).Count(ctx)
		if err != nil {
			return fmt.Errorf("counting the owners of organization %s: %w", organizationID, err)
		}
		if owners == 0 {
			return org.ErrLastOwner
		}
	}
	return s.voidInvitations(ctx, organizationID, userID, to)
}

// voidInvitations ends those invitations of a member that one of the role could not
// issue.
func (s *Store) voidInvitations(ctx context.Context, organizationID, userID string, role org.Role) error {
	var beyond []string
	for _, offered := range org.Roles {
		if !role.Invites(offered) {
			beyond = append(beyond, string(offered))
		}
	}
	if len(beyond) == 0 {
		return nil
	}
	if _, err := s.write.NewDelete().Model((*invitationRow)(nil)).Where("organization_id = ?", organizationID).
		Where("invited_by = ?", userID).Where("role IN (?)", bun.List(beyond)).Exec(ctx); err != nil {
		return fmt.Errorf("withdrawing the invitations of member %s: %w", userID, err)
	}
	return nil
}

// lockOrganization keeps others who lock it waiting until the transaction ends;
// an organization that does not exist, or is deleted, is missing.
func (s *Store) lockOrganization(ctx context.Context, id string, missing error) error {
	return s.lockWhere(ctx, id, organizationLives, missing)
}

// lockAny is lockOrganization for deleted ones too.
func (s *Store) lockAny(ctx context.Context, id string, missing error) error {
	return s.lockWhere(ctx, id, "TRUE", missing)
}

func (s *Store) lockWhere(ctx context.Context, id, condition string, missing error) error {
	res, err := s.write.NewUpdate().Model((*organizationRow)(nil)).Where("id = ?",
		id).Where(condition).Set("name = name").Exec(ctx)
	if err != nil {
		return fmt.Errorf("locking organization %s: %w", id, err)
	}
	return mustTouch(res, missing)
}

// people selects the members of organizations that exist.
func (s *Store) people(rows any) *bun.SelectQuery { return s.everybody(rows).Where(organizationLives) }

// everybody selects the members of deleted organizations too.
func (s *Store) everybody(rows any) *bun.SelectQuery {
	return s.read.NewSelect().Model(rows).
		ColumnExpr("m.*").ColumnExpr("u.email, u.name").ColumnExpr("o.name AS organization").
		Join("JOIN users AS u ON u.id = m.user_id").
		Join("JOIN organizations AS o ON o.id = m.organization_id")
}

func (s *Store) person(ctx context.Context, organizationID, userID string) (*org.Person, error) {
	var row personRow
	err := s.people(&row).Where("m.organization_id = ?", organizationID).Where("m.user_id = ?", userID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, org.ErrMemberNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading member %s of organization %s: %w", userID, organizationID, err)
	}
	p := row.person()
	return &p, nil
}

func (s *Store) recordMember(
	ctx context.Context, by audit.By, p *org.Person, action string, now time.Time, changes map[string]audit.Change,
) error {
	return s.Record(ctx, audit.New(by, p.OrganizationID, "member", action, now).Of(p.UserID, p.Email).With(changes))
}
