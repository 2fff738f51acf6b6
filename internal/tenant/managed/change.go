package managed

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/tenant/audit"
)

// Target names a record and what the caller believes of it.
type Target struct {
	OrganizationID string // whose record it must be
	// Only, where not empty, is the one record that the caller may reach; others of the
	// organization are the noun's NotCovered.
	Only string
	Ref  string // its id, or another name that the noun knows it by
	// Version, where not 0, must be the record's; otherwise the change is ErrChanged.
	Version int64
}

// Changer makes the changes of one noun's records. It is safe for concurrent use.
type Changer[R Kept] struct {
	Noun *Noun[R]
	// Find returns the record that a name stands for, also a deleted one, or NotFound.
	Find func(ctx context.Context, ref string) (R, error)
	// Save replaces was by is, with the audit's entry and the change event in the same
	// transaction, or returns ErrChanged when the record is not at was.Version any more.
	Save func(ctx context.Context, by audit.By, action Action, was, is R) error
	// Next returns a copy of a record, one version later; for Delete and Restore.
	Next func(was R, now time.Time) R
	Now  func() time.Time // nil means time.Now
	// NotFound, NotCovered and NotDeleted are the noun's errors.
	NotFound, NotCovered, NotDeleted error
}

// Clock is the time as stores keep it: UTC, whole milliseconds.
func (c *Changer[R]) Clock() time.Time {
	now := c.Now
	if now == nil {
		now = time.Now
	}
	return now().UTC().Truncate(time.Millisecond)
}

// Get returns a record that is not deleted, or NotFound.
func (c *Changer[R]) Get(ctx context.Context, t Target) (R, error) {
	found, err := c.Any(ctx, t)
	if err == nil && found.Common().Deleted() {
		var none R
		return none, c.NotFound
	}
	return found, err
}

// Any is Get also for a deleted record. Another organization's is NotFound.
func (c *Changer[R]) Any(ctx context.Context, t Target) (R, error) {
	var none R
	found, err := c.Find(ctx, t.Ref)
	if err != nil {
		return none, err
	}
	switch r := found.Common(); {
	case t.OrganizationID == "" || r.OrganizationID != t.OrganizationID:
		return none, c.NotFound
	case t.Only != "" && r.ID != t.Only:
		return none, c.NotCovered
	}
	return found, nil
}

// Change reads a record that is not deleted, lets edit say what it becomes, and keeps
// that. Edit returns a copy, one version later. Two changes that read the same version do
// not both succeed, whatever the database: the reading stands outside the writing
// transaction, which compares the version.
func (c *Changer[R]) Change(
	ctx context.Context, by audit.By, t Target, action Action, edit func(was R, now time.Time) (R, error),
) (R, error) {
	was, err := c.Get(ctx, t)
	if err != nil {
		return was, err
	}
	return c.Replace(ctx, by, t, action, was, edit)
}

// Replace is Change of a record that was read before.
func (c *Changer[R]) Replace(
	ctx context.Context, by audit.By, t Target, action Action, was R, edit func(was R, now time.Time) (R, error),
) (R, error) {
	var none R
	if t.Version != 0 && t.Version != was.Common().Version {
		return none, ErrChanged
	}
	is, err := edit(was, c.Clock())
	if err != nil {
		return none, err
	}
	if len(c.Noun.Diff(was, is)) == 0 {
		return was, nil
	}
	if err := c.Save(ctx, by, action, was, is); err != nil {
		return none, fmt.Errorf("%s %s: %w", c.Noun.Type, was.Common().ID, err)
	}
	return is, nil
}

// Delete marks a record as deleted and changes nothing else of it. Errors are those of
// Change.
func (c *Changer[R]) Delete(ctx context.Context, by audit.By, t Target) (R, error) {
	return c.Change(ctx, by, t, Deleted, func(was R, now time.Time) (R, error) {
		is := c.Next(was, now)
		is.Common().DeletedAt = now
		return is, nil
	})
}

// Restore brings a deleted record back as it was. It returns NotDeleted for one that
// exists, NotFound for one deleted too long ago, and errors of Save.
func (c *Changer[R]) Restore(ctx context.Context, by audit.By, t Target) (R, error) {
	was, err := c.Any(ctx, t)
	if err != nil {
		return was, err
	}
	return c.Replace(ctx, by, t, Restored, was, func(was R, now time.Time) (R, error) {
		var none R
		switch r := was.Common(); {
		case !r.Deleted():
			return none, c.NotDeleted
		case !r.Restorable(now):
			return none, c.NotFound
		}
		is := c.Next(was, now)
		is.Common().DeletedAt = time.Time{}
		return is, nil
	})
}
