package erasure

import (
	"context"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/privacy/tombstone"
	"github.com/millrace/millrace/internal/tenant/attempt"
	"github.com/millrace/millrace/internal/tenant/audit"
)

// MaxIDLen is the longest profile or anonymous id, in code points; no event has a
// longer one.
const MaxIDLen = 256

// ClockSlack is how much further than its request an erasure reaches: edges write the
// time of receipt, and what was there before the request has a later one from an edge
// whose clock is ahead. It is as much as clocks may be apart before the doctor warns.
const ClockSlack = 2 * time.Second

// MaxWaiting is how many unfinished erasures an organization may have.
const MaxWaiting = 1000

// Requests is how often an organization may ask for visitors to be erased: about 2,900 a day.
var Requests = attempt.Allowance{Burst: 100, Interval: 30 * time.Second}

// Registry keeps erasures.
type Registry interface {
	attempt.Store

	// CreateErasure adds an erasure, and who asked for it to the audit. It returns
	// managed.TooMany for an organization with MaxWaiting unfinished ones.
	CreateErasure(ctx context.Context, by audit.By, e *Erasure) error
	// Erasure returns an erasure, or ErrNotFound.
	Erasure(ctx context.Context, id string) (*Erasure, error)
	ListErasures(ctx context.Context, f Filter) ([]*Erasure, error)
	// Salts returns the salts there are, by the beginning of their UTC day.
	Salts(ctx context.Context) (map[time.Time][]byte, error)
}

// Filter selects erasures for a list.
type Filter struct {
	OrganizationID string // required
	OwnerID        string // empty for all
	Before         string // only ids before this one: newest first; empty for the first page
	Limit          int    // most erasures returned; 0 means 50
}

// Service takes requests to erase. It is safe for concurrent use.
type Service struct {
	registry Registry
	now      func() time.Time
}

// NewService returns the rules over a registry. A nil now means time.Now.
func NewService(registry Registry, now func() time.Time) *Service {
	if now == nil {
		now = time.Now
	}
	return &Service{registry: registry, now: now}
}

// Subject is a visitor to erase, by one of two ids or both.
type Subject struct {
	OrganizationID string
	OwnerID        string // the website, or the organization for what belongs to no website
	ProfileID      string
	AnonymousID    string
}

// Request asks for a visitor to be erased: everything that was received of them by
// now, on edges whose clocks are ahead by no more than ClockSlack. Of an anonymous id that is
// what is stored under the id itself and under its hashes of the days whose salts are known,
// which is today, and yesterday for some minutes; of a profile id that is an e-mail address
// also what is stored under its hash. A subject with none of the ids is a Validation error,
// more than Requests are a RateLimited one, and more than MaxWaiting managed.TooMany.
func (s *Service) Request(ctx context.Context, by audit.By, subject Subject) (*Erasure, error) {
	if subject.ProfileID == "" && subject.AnonymousID == "" {
		var bad apierr.Rejection
		bad.Add("profileId", "one_of", "profileId, anonymousId or both are required")
		return nil, bad.Err()
	}
	now := s.now().UTC().Truncate(time.Millisecond)
	before := now.Add(ClockSlack)
	e := newErasure(tombstone.Profile, subject.OrganizationID, subject.OwnerID, before, now, by.Actor)
	if subject.ProfileID == "" {
		e.Kind = tombstone.Visitor
	} else {
		e.add(tombstone.Profile, []byte(subject.ProfileID))
		if event.IsEmail(subject.ProfileID) { // as exposures to feature flags have it
			e.add(tombstone.Profile, event.AppendHashedEmail(nil, []byte(subject.OwnerID), []byte(subject.ProfileID)))
		}
	}
	if subject.AnonymousID != "" {
		if err := s.visitor(ctx, e, []byte(subject.AnonymousID)); err != nil {
			return nil, err
		}
	}
	charge := attempt.Of(Requests, "erasure", subject.OrganizationID)
	if err := attempt.Take(ctx, s.registry, now, charge); err != nil {
		return nil, err
	}
	if err := s.registry.CreateErasure(ctx, by, e); err != nil {
		return nil, err
	}
	return e, nil
}

// visitor adds what an anonymous id may be stored as.
func (s *Service) visitor(ctx context.Context, e *Erasure, anonymousID []byte) error {
	salts, err := s.registry.Salts(ctx)
	if err != nil {
		return err
	}
	e.add(tombstone.Visitor, anonymousID)
	for day, salt := range salts {
		if day.After(e.Before) {
			continue // made ahead, and not in use yet
		}
		e.add(tombstone.Visitor, event.AppendHashedVisitor(nil, anonymousID, salt))
		e.Days = append(e.Days, day.Format(time.DateOnly))
	}
	slices.Sort(e.Days)
	return nil
}

// Get returns an erasure of an organization, or ErrNotFound. Only, where not
// empty, is the one owner whose erasures the caller may see.
func (s *Service) Get(ctx context.Context, organizationID, only, id string) (*Erasure, error) {
	e, err := s.registry.Erasure(ctx, id)
	if err == nil && (e.OrganizationID != organizationID || only != "" && e.OwnerID != only) {
		return nil, ErrNotFound
	}
	return e, err
}

// List returns the erasures that f selects, newest first.
func (s *Service) List(ctx context.Context, f Filter) ([]*Erasure, error) {
	return s.registry.ListErasures(ctx, f)
}
