package flag

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// CreateSegment makes a segment. Fields against the rules are a Validation error; other
// errors are those of SegmentStore.CreateSegment.
func (s *Service) CreateSegment(ctx context.Context, by audit.By, spec Spec, f SegmentFields) (*Segment, error) {
	made := &Segment{
		Record: managed.New("seg", spec.OrganizationID, by.Actor.ID, s.segments.Clock()), WebsiteID: spec.WebsiteID,
	}
	made.Definition.Key = spec.Key
	if err := f.apply(made); err != nil {
		return nil, err
	}
	if err := s.deps.Segments.CreateSegment(ctx, by, made, s.caps); err != nil {
		return nil, err
	}
	return made, nil
}

// Segment returns a segment, ErrSegmentNotFound or ErrNotCovered.
func (s *Service) Segment(ctx context.Context, t Target) (found *Segment, err error) {
	if t.Ref != "" {
		found, err = s.segments.Get(ctx, t.Target)
	} else {
		found, err = s.deps.Segments.SegmentByKey(ctx, t.OrganizationID, t.WebsiteID, t.Key)
	}
	if err == nil {
		err = t.covers(found.WebsiteID)
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// ListSegments returns the segments that f selects, without their definitions.
func (s *Service) ListSegments(ctx context.Context, f Filter) ([]*Segment, error) {
	return s.deps.Segments.ListSegments(ctx, f)
}

// UpdateSegment changes a segment for all flags that ask for it. It returns
// ErrSegmentNotFound, ErrNotCovered, managed.ErrChanged or a Validation error.
func (s *Service) UpdateSegment(ctx context.Context, by audit.By, t Target, f SegmentFields) (*Segment, error) {
	return s.resegment(ctx, by, t, managed.Updated, func(is *Segment, _ time.Time) error { return f.apply(is) })
}

// DeleteSegment takes a segment away for good. It returns ErrSegmentNotFound,
// ErrNotCovered, managed.ErrChanged, and a Conflict error for one that flags ask for which
// are not archived.
func (s *Service) DeleteSegment(ctx context.Context, by audit.By, t Target) (*Segment, error) {
	return s.resegment(ctx, by, t, managed.Deleted, func(is *Segment, now time.Time) error {
		is.DeletedAt = now
		return nil
	})
}

// resegment changes a segment.
func (s *Service) resegment(
	ctx context.Context, by audit.By, t Target, action managed.Action, to func(*Segment, time.Time) error,
) (*Segment, error) {
	was, err := s.Segment(ctx, t)
	if err != nil {
		return nil, err
	}
	return s.segments.Replace(ctx, by, t.Target, action, was, func(was *Segment, now time.Time) (*Segment, error) {
		is := managed.Next(was, now)
		return is, to(is, now)
	})
}
