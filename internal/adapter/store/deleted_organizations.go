package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
)

// A deleted organization keeps its rows, so that it can be restored as it was. Who
// reads what belongs to it finds nothing: its members have no membership in it, its keys,
// its websites and its short links are not found.
const (
	// organizationLives is a condition on organizations under the alias o.
	organizationLives = "o.deleted_at IS NULL"
	// ownerLives is a condition on what belongs to an organization, under the alias
	// that is put in; what belongs to none lives.
	ownerLives = "NOT EXISTS (SELECT 1 FROM organizations AS o WHERE o.id = ?.organization_id AND o.deleted_at IS NOT " +
		"NULL)"
)

// DeleteOrganization deletes an organization where check, which is told what it is,
// agrees. Its invitations end; the rest stays for RestoreOrganization. It returns the
// error of check, org.ErrNotFound, and managed.ErrChanged when version is neither 0 nor the
// organization's.
func (s *Store) DeleteOrganization(
	ctx context.Context, by audit.By, id string, version int64, now time.Time, check func(*org.Organization) error,
) (*org.Deletion, error) {
	var d *org.Deletion
	err := s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		if err := tx.lockOrganization(ctx, id, org.ErrNotFound); err != nil {
			return err
		}
		o, err := tx.OrganizationByID(ctx, id)
		if err != nil {
			return err
		}
		if version != 0 && version != o.Version {
			return managed.ErrChanged
		}
		if err := check(o); err != nil {
			return err
		}
		if d, err = tx.belongings(ctx, id); err != nil {
			return err
		}
		if _, err := tx.write.NewDelete().Model((*invitationRow)(nil)).Where("organization_id = ?",
			id).Exec(ctx); err != nil {
			return fmt.Errorf("withdrawing the invitations of organization %s: %w", id, err)
		}
		o.DeletedAt = at(now).Time
		d.RestorableUntil = o.DeletedAt.Add(org.RestoreFor)
		return tx.markDeleted(ctx, by, o, "deleted", now, d.View())
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// belongings counts what an organization has.
func (s *Store) belongings(ctx context.Context, id string) (*org.Deletion, error) {
	d := &org.Deletion{}
	for _, c := range []struct {
		to    *int
		model any
		alias string
		more  string
	}{
		{&d.Members, (*memberRow)(nil), "m", "TRUE"},
		{&d.Websites, (*websiteRow)(nil), "w", "w.deleted_at IS NULL"},
		{&d.APIKeys, (*keyRow)(nil), "k", "k.deleted_at IS NULL AND k.revoked_at IS NULL"},
		{&d.Links, (*linkRow)(nil), "l", "l.deleted_at IS NULL"},
	} {
		n, err := s.read.NewSelect().Model(c.model).Where("?.organization_id = ?",
			bun.Ident(c.alias), id).Where(c.more).Count(ctx)
		if err != nil {
			return nil, fmt.Errorf("counting what organization %s has: %w", id, err)
		}
		*c.to = int(n)
	}
	return d, nil
}

// RestoreOrganization brings an organization back that one of its owners, or with an
// empty user id anybody, deleted or saw deleted. It returns org.ErrNotDeleted for one
// that exists, and org.ErrNotFound for one that was deleted too long ago or is not the
// user's.
func (s *Store) RestoreOrganization(
	ctx context.Context, by audit.By, id, userID string, now time.Time,
) (*org.Organization, error) {
	var o *org.Organization
	err := s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		if err := tx.lockAny(ctx, id, org.ErrNotFound); err != nil {
			return err
		}
		var err error
		if o, err = tx.anyOrganization(ctx, id); err != nil {
			return err
		}
		if err := tx.mayRestore(ctx, o, userID, now); err != nil {
			return err
		}
		was := o.DeletedAt
		o.DeletedAt = time.Time{}
		return tx.markDeleted(ctx, by, o, "restored", now,
			map[string]audit.Change{"deletedAt": {From: was.Format(time.RFC3339Nano)}})
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

func (s *Store) mayRestore(ctx context.Context, o *org.Organization, userID string, now time.Time) error {
	if userID != "" {
		owns, err := s.read.NewSelect().Model((*memberRow)(nil)).Where("m.organization_id = ?", o.ID).
			Where("m.user_id = ?", userID).Where("m.role = ?", string(org.RoleOwner)).Exists(ctx)
		if err != nil {
			return fmt.Errorf("finding an owner of organization %s: %w", o.ID, err)
		}
		if !owns {
			return org.ErrNotFound
		}
	}
	switch {
	case o.DeletedAt.IsZero():
		return org.ErrNotDeleted
	case !o.Restorable(now):
		return org.ErrNotFound
	}
	return nil
}

// markDeleted keeps whether an organization is deleted.
func (s *Store) markDeleted(
	ctx context.Context, by audit.By, o *org.Organization, action string, now time.Time, changes map[string]audit.Change,
) error {
	o.Version++
	o.UpdatedAt = at(now).Time
	if _, err := s.write.NewUpdate().Model(newOrganizationRow(o)).Column("deleted_at", "version", "updated_at").Where(
		"id = ?", o.ID).Exec(ctx); err != nil {
		return fmt.Errorf("marking organization %s as %s: %w", o.ID, action, err)
	}
	if err := s.Record(ctx, audit.New(by, o.ID, "organization", action, now).Of(o.ID, o.Name).With(changes)); err != nil {
		return err
	}
	if err := s.Announce(ctx, control.Change{
		Kind: control.Organization, ID: o.ID, OrganizationID: o.ID, Version: o.Version, Refs: []string{o.ID},
		Gone: !o.DeletedAt.IsZero(), At: now,
	}); err != nil {
		return err
	}
	return s.noteLinks(ctx, now, link.Change{OrganizationID: o.ID, Version: o.Version})
}

// DeletedMemberships returns the organizations that a user owns and can restore, those
// deleted after a time, oldest membership first.
func (s *Store) DeletedMemberships(ctx context.Context, userID string, after time.Time) ([]org.Membership, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []personRow
	if err := s.everybody(&rows).ColumnExpr("o.deleted_at").Where("m.user_id = ?", userID).Where("m.role = ?",
		string(org.RoleOwner)).
		Where("o.deleted_at > ?", at(after)).Order("m.created_at", "m.organization_id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing the deleted organizations of user %s: %w", userID, err)
	}
	memberships := make([]org.Membership, len(rows))
	for i := range rows {
		memberships[i] = org.Membership{
			Member: rows[i].member(), Organization: rows[i].Organization, DeletedAt: rows[i].DeletedAt.Time,
		}
	}
	return memberships, nil
}

// DeletedOrganizations returns the ids of up to limit organizations that were deleted at or
// before a time, have no website any more, and that no erasure is about.
func (s *Store) DeletedOrganizations(ctx context.Context, by time.Time, limit int) (ids []string, err error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	if err := s.read.NewSelect().Model((*organizationRow)(nil)).Column("id").Where("o.deleted_at <= ?", at(by)).
		Where("NOT EXISTS (SELECT 1 FROM websites AS w WHERE w.organization_id = o.id)").
		Where("NOT EXISTS (SELECT 1 FROM erasures AS e WHERE e.owner_id = o.id AND e.kind = 'website')").
		Order("o.deleted_at").Limit(int64(limit)).Scan(ctx, &ids); err != nil {
		return nil, fmt.Errorf("listing organizations that were deleted by %s: %w", by.UTC().Format(time.RFC3339), err)
	}
	return ids, nil
}

// PurgeOrganization removes an organization's row for good, with its members, its
// quota, its invitations, its feature flags, its folders of links and its domains. Websites,
// keys and links that are left stay, without an organization: events for them, calls with
// them and visits of them are rejected. A missing one is org.ErrNotFound.
func (s *Store) PurgeOrganization(ctx context.Context, by audit.By, id string, now time.Time) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		o, err := tx.anyOrganization(ctx, id)
		if err != nil {
			return err
		}
		res, err := tx.write.NewDelete().Model((*organizationRow)(nil)).Where("id = ?", id).Exec(ctx)
		if err != nil {
			return fmt.Errorf("removing organization %s: %w", id, err)
		}
		if err := mustTouch(res, org.ErrNotFound); err != nil {
			return err
		}
		if err := tx.Record(ctx, audit.New(by, id, "organization", "purged", now).Of(id, o.Name)); err != nil {
			return err
		}
		if err := tx.Announce(ctx, control.Change{
			Kind: control.Organization, ID: id, OrganizationID: id, Version: o.Version + 1, Refs: []string{id}, Gone: true,
			At: now,
		}); err != nil {
			return err
		}
		return tx.noteLinks(ctx, now, link.Change{OrganizationID: id, Version: o.Version + 1})
	})
}
