package org

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// RestoreFor is how long a deleted organization can be restored.
const RestoreFor = managed.RestoreFor

// Restorable reports whether the organization is deleted and not for too long.
func (o *Organization) Restorable(now time.Time) bool {
	return !o.DeletedAt.IsZero() && now.Before(o.DeletedAt.Add(RestoreFor))
}

// Deletion tells what a deleted organization had, and until when it can be restored.
type Deletion struct {
	Members  int
	Websites int // those that were not deleted before
	APIKeys  int // those that were neither revoked nor deleted
	Links    int // those that were not deleted before
	// RestorableUntil is the first instant at which it cannot be restored any more.
	RestorableUntil time.Time
}

// View is what the audit says of it.
func (d *Deletion) View() map[string]audit.Change {
	return map[string]audit.Change{
		"members": {From: d.Members}, "websites": {From: d.Websites}, "apiKeys": {From: d.APIKeys},
		"links":           {From: d.Links},
		"restorableUntil": {To: d.RestorableUntil.Format(time.RFC3339Nano)},
	}
}

// Deletions keeps deleted organizations.
type Deletions interface {
	// DeleteOrganization deletes an organization where check, which is told what it is,
	// agrees. It is managed.ErrChanged when version is neither 0 nor the organization's.
	DeleteOrganization(ctx context.Context, by audit.By, id string, version int64, now time.Time, check func(
		*Organization,
	) error) (*Deletion, error)
	// RestoreOrganization brings one back that the user owns. It returns ErrNotDeleted
	// for one that exists, and ErrNotFound.
	RestoreOrganization(ctx context.Context, by audit.By, id, userID string, now time.Time) (*Organization, error)
	// DeletedMemberships returns those of a user's that were deleted after a time.
	DeletedMemberships(ctx context.Context, userID string, after time.Time) ([]Membership, error)
}

// Delete takes an organization away, with all that belongs to it; name has to be its
// name. It can be restored for RestoreFor. It returns ErrNotFound, managed.ErrChanged, or a
// Validation error for another name.
func (s *Service) Delete(ctx context.Context, by audit.By, id, name string, version int64) (*Deletion, error) {
	return s.deps.Deletions.DeleteOrganization(ctx, by, id, version, s.deps.Now().UTC(), func(o *Organization) error {
		if o.Name != name {
			return apierr.Invalid("name", "mismatch", "name must be the organization's exact name")
		}
		return nil
	})
}

// Restore brings an organization back as it was, for one of those who owned it. It
// returns ErrNotDeleted for one that exists, and ErrNotFound for one that is not the
// user's or was deleted too long ago.
func (s *Service) Restore(ctx context.Context, by audit.By, id, userID string) (*Organization, error) {
	return s.deps.Deletions.RestoreOrganization(ctx, by, id, userID, s.deps.Now().UTC())
}

// Deleted returns the organizations that a user can restore, oldest membership first.
func (s *Service) Deleted(ctx context.Context, userID string) ([]Membership, error) {
	return s.deps.Deletions.DeletedMemberships(ctx, userID, s.deps.Now().UTC().Add(-RestoreFor))
}
