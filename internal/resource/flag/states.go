package flag

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// step is a way from one state to another.
type step struct {
	from, to State
	only     string // what is said of a flag in another state
}

var steps = map[managed.Action]step{
	Enabled:    {Inactive, Active, "Only an inactive flag can be enabled"},
	Disabled:   {Active, Inactive, "Only an active flag can be disabled"},
	Archiving:  {Inactive, Archived, "Only an inactive flag can be archived; disable it first"},
	Unarchived: {Archived, Inactive, "Only an archived flag can be unarchived"},
}

// Switch brings a flag into another state by one of the actions Enabled, Disabled, Archiving
// and Unarchived. One that is in it already is not changed. It returns ErrNotFound,
// ErrNotCovered, managed.ErrChanged, and a Conflict error for a flag from whose state no way
// leads there, for one that others need, and for one that needs what is not there any more.
func (s *Service) Switch(ctx context.Context, by audit.By, t Target, action managed.Action) (*Flag, error) {
	was, err := s.Get(ctx, t)
	if err != nil {
		return nil, err
	}
	is, err := s.flags.Replace(ctx, by, t.Target, action, was, func(was *Flag, now time.Time) (*Flag, error) {
		way := steps[action]
		if was.State == way.to {
			return was, nil
		}
		if was.State != way.from {
			return nil, conflict(ErrState, "%s; this one is %s", way.only, was.State)
		}
		is := managed.Next(was, now)
		is.enter(way.to)
		return is, nil
	})
	return is, ofRecord(err)
}

// ofRecord turns what is wrong with a definition that was kept before into a Conflict: the
// caller has sent nothing that could be mended.
func ofRecord(err error) error {
	if !apierr.Is(err, apierr.Validation) {
		return err
	}
	return conflict(err, "%s", apierr.Of(err).Message)
}

// Delete takes an archived flag away for good, with its versions. It returns ErrNotFound,
// ErrNotCovered, managed.ErrChanged, and a Conflict error for one that is not archived.
func (s *Service) Delete(ctx context.Context, by audit.By, t Target) (*Flag, error) {
	was, err := s.Get(ctx, t)
	if err != nil {
		return nil, err
	}
	return s.flags.Replace(ctx, by, t.Target, managed.Deleted, was, func(was *Flag, now time.Time) (*Flag, error) {
		if was.State != Archived {
			return nil, conflict(ErrState, "Only an archived flag can be deleted; this one is %s", was.State)
		}
		is := managed.Next(was, now)
		is.DeletedAt = now
		return is, nil
	})
}

// Duplicate makes an inactive flag that is otherwise like another one, of whatever state,
// under a key of its own. Errors are those of Create, and ErrNotFound and ErrNotCovered.
func (s *Service) Duplicate(ctx context.Context, by audit.By, t Target, spec Spec, name *string) (*Flag, error) {
	from, err := s.Get(ctx, t)
	if err != nil {
		return nil, err
	}
	spec.Type = from.About.Type
	made := s.draft(by, spec)
	made.About, made.Definition = from.About, from.Definition
	made.Definition.Key = spec.Key
	made.enter(Inactive)
	if err := (&Fields{Name: name}).apply(made); err != nil {
		return nil, err
	}
	return s.keep(ctx, by, Duplicated, made)
}

// Versions returns the kept versions of a flag, the latest first, those before a number; 0
// for all. It returns ErrNotFound and ErrNotCovered.
func (s *Service) Versions(ctx context.Context, t Target, before int64, limit int) ([]Version, error) {
	f, err := s.Get(ctx, t)
	if err != nil {
		return nil, err
	}
	return s.deps.Versions.FlagVersions(ctx, f.ID, before, limit)
}

// Was returns a flag as it was in one of its versions. It returns ErrVersionNotFound,
// ErrNotFound and ErrNotCovered.
func (s *Service) Was(ctx context.Context, t Target, number int64) (*Flag, error) {
	f, err := s.Get(ctx, t)
	if err != nil {
		return nil, err
	}
	v, err := s.deps.Versions.FlagVersion(ctx, f, number)
	if err != nil {
		return nil, err
	}
	return v.Flag, nil
}

// Rollback makes a new version with all that Update can change as it was in an earlier one;
// the flag's state stays. Errors are those of Update, and ErrVersionNotFound; what the
// earlier version refers to and is not there any more is a Conflict error.
func (s *Service) Rollback(ctx context.Context, by audit.By, t Target, number int64) (*Flag, error) {
	was, err := s.Was(ctx, t, number)
	if err != nil {
		return nil, err
	}
	is, err := s.edit(ctx, by, t, RolledBack, func(is *Flag) error {
		is.Name, is.About, is.Definition = was.Name, was.About, was.Definition
		is.enter(is.State)
		var bad apierr.Rejection
		return is.judge(&bad) // limits may be narrower by now
	})
	return is, ofRecord(err)
}
