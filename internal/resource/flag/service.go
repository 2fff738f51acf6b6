package flag

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// Caps are how many flags and segments an organization may have.
type Caps struct{ Flags, Segments int }

// Limits are the caps of every organization.
func Limits() Caps { return Caps{MaxFlags, MaxSegments} }

// Store keeps flags. All mutating methods write the audit entry, raise the version of the
// organization's set and announce it in the same transaction, in which they ask fits. They
// return its error, and org.ErrNotFound for an organization that does not exist.
type Store interface {
	// CreateFlag adds a flag with its first version. It returns ErrKeyTaken, managed.TooMany
	// beyond a cap, and website.ErrNotFound for a website that is not the organization's.
	CreateFlag(ctx context.Context, by audit.By, action managed.Action, f *Flag, caps Caps, fits Fits) error
	// SaveFlag replaces was by is and keeps that as a version, or returns managed.ErrChanged
	// when the flag is not at was.Version any more. One that is deleted is removed.
	SaveFlag(ctx context.Context, by audit.By, action managed.Action, was, is *Flag, fits Fits) error
	// FlagByID and FlagByKey return a flag or ErrNotFound; the key is a website's own, or with
	// an empty website that of all of them.
	FlagByID(ctx context.Context, id string) (*Flag, error)
	FlagByKey(ctx context.Context, organizationID, websiteID, key string) (*Flag, error)
	// ListFlags returns flags without their definitions.
	ListFlags(ctx context.Context, f Filter) ([]*Flag, error)
	// FlagOutlines returns what Fits is asked about, as it is now.
	FlagOutlines(ctx context.Context, organizationID string) (*Outlines, error)
	// FlagsByID returns those of the flags that an organization has. Definitions with more than
	// MaxReadBytes together are a Validation error.
	FlagsByID(ctx context.Context, organizationID string, ids []string) ([]*Flag, error)
}

// VersionStore knows what flags were.
type VersionStore interface {
	// FlagVersions returns the kept versions of a flag, the latest first, those before a
	// number; 0 for all.
	FlagVersions(ctx context.Context, flagID string, before int64, limit int) ([]Version, error)
	// FlagVersion returns one version with the flag, or ErrVersionNotFound.
	FlagVersion(ctx context.Context, of *Flag, number int64) (*Version, error)
}

// SegmentStore keeps segments. What Store says of mutating methods holds.
type SegmentStore interface {
	// CreateSegment adds a segment. It returns ErrSegmentKeyTaken, managed.TooMany and
	// website.ErrNotFound as Store.CreateFlag does.
	CreateSegment(ctx context.Context, by audit.By, s *Segment, caps Caps) error
	// SaveSegment replaces was by is, or returns managed.ErrChanged. One that is deleted is
	// removed.
	SaveSegment(ctx context.Context, by audit.By, action managed.Action, was, is *Segment, fits Fits) error
	// SegmentByID and SegmentByKey return a segment or ErrSegmentNotFound.
	SegmentByID(ctx context.Context, id string) (*Segment, error)
	SegmentByKey(ctx context.Context, organizationID, websiteID, key string) (*Segment, error)
	// ListSegments returns segments without their definitions.
	ListSegments(ctx context.Context, f Filter) ([]*Segment, error)
	// SegmentsByID returns those of the segments that an organization has.
	SegmentsByID(ctx context.Context, organizationID string, ids []string) ([]*Segment, error)
}

// Deps are what a service works with.
type Deps struct {
	Store    Store
	Versions VersionStore
	Segments SegmentStore
	Now      func() time.Time // nil means time.Now
}

// Service makes, changes and deletes flags and segments. It is safe for concurrent use.
type Service struct {
	caps     Caps
	deps     Deps
	flags    managed.Changer[*Flag]
	segments managed.Changer[*Segment]
}

// NewService returns the rules over a store.
func NewService(caps Caps, deps Deps) *Service {
	s := &Service{caps: caps, deps: deps}
	s.flags = managed.Changer[*Flag]{
		Noun: &Noun, Find: deps.Store.FlagByID, Next: managed.Next[Flag], Now: deps.Now, NotFound: ErrNotFound,
		Save: func(ctx context.Context, by audit.By, action managed.Action, was, is *Flag) error {
			return deps.Store.SaveFlag(ctx, by, action, was, is, fitting(was, is))
		},
	}
	s.segments = managed.Changer[*Segment]{
		Noun: &Segments, Find: deps.Segments.SegmentByID, Next: managed.Next[Segment], Now: deps.Now,
		NotFound: ErrSegmentNotFound,
		Save: func(ctx context.Context, by audit.By, action managed.Action, was, is *Segment) error {
			fits := anyway
			if is.Deleted() {
				fits = unasked(was)
			}
			return deps.Segments.SaveSegment(ctx, by, action, was, is, fits)
		},
	}
	return s
}

// Now is the time by which the service says what a flag is.
func (s *Service) Now() time.Time { return s.flags.Clock() }

// Target names a flag or a segment, and what the caller believes of it.
type Target struct {
	managed.Target

	// Reach, where not empty, is the one website whose flags the caller may reach; others
	// are ErrNotCovered.
	Reach string
	// Key names it where Ref is empty: that of WebsiteID, or with an empty one that of all
	// websites.
	Key, WebsiteID string
}

// covers returns ErrNotCovered for what is not of the caller's website.
func (t *Target) covers(websiteID string) error {
	if t.Reach != "" && t.Reach != websiteID {
		return ErrNotCovered
	}
	return nil
}

// Get returns a flag, ErrNotFound or ErrNotCovered.
func (s *Service) Get(ctx context.Context, t Target) (f *Flag, err error) {
	if t.Ref != "" {
		f, err = s.flags.Get(ctx, t.Target)
	} else {
		f, err = s.deps.Store.FlagByKey(ctx, t.OrganizationID, t.WebsiteID, t.Key)
	}
	if err == nil {
		err = t.covers(f.WebsiteID)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// List returns the flags that f selects, without their definitions.
func (s *Service) List(ctx context.Context, f Filter) ([]*Flag, error) {
	return s.deps.Store.ListFlags(ctx, f)
}

// Create makes an inactive flag. Fields against the rules, and what they refer to and is
// not there, are a Validation error, a circle a Conflict; other errors are those of
// Store.CreateFlag.
func (s *Service) Create(ctx context.Context, by audit.By, spec Spec, f Fields) (*Flag, error) {
	made := s.draft(by, spec)
	if err := f.apply(made); err != nil {
		return nil, err
	}
	return s.keep(ctx, by, managed.Created, made)
}

// draft is a flag of which nothing is chosen.
func (s *Service) draft(by audit.By, spec Spec) *Flag {
	f := &Flag{
		Record:    managed.New("flg", spec.OrganizationID, by.Actor.ID, s.flags.Clock()),
		WebsiteID: spec.WebsiteID,
		About:     About{Type: spec.Type, Visibility: Public, Exposures: Exposures{ExposeSplit, 100}},
	}
	f.Definition.Key = spec.Key
	f.enter(Inactive)
	return f
}

func (s *Service) keep(ctx context.Context, by audit.By, action managed.Action, f *Flag) (*Flag, error) {
	if err := s.deps.Store.CreateFlag(ctx, by, action, f, s.caps, fitting(nil, f)); err != nil {
		return nil, err
	}
	return f, nil
}

// Update changes a flag that is not archived. It returns ErrNotFound, ErrNotCovered,
// managed.ErrChanged, a Conflict error for an archived one, for a circle and for a variant
// that is another flag's prerequisite, and a Validation error. Fields that change nothing
// are no change.
func (s *Service) Update(ctx context.Context, by audit.By, t Target, f Fields) (*Flag, error) {
	return s.edit(ctx, by, t, managed.Updated, f.apply)
}

// edit changes a flag that is not archived.
func (s *Service) edit(
	ctx context.Context, by audit.By, t Target, action managed.Action, to func(is *Flag) error,
) (*Flag, error) {
	was, err := s.Get(ctx, t)
	if err != nil {
		return nil, err
	}
	return s.flags.Replace(ctx, by, t.Target, action, was, func(was *Flag, now time.Time) (*Flag, error) {
		if !was.Live() {
			return nil, conflict(ErrState, "The flag is archived; unarchive it before you change it")
		}
		is := managed.Next(was, now)
		return is, to(is)
	})
}
