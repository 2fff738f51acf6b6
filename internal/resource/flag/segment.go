package flag

import (
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// Segment is a group of people that flags ask for; its id begins with "seg_", and its name
// is its key where it was given none.
type Segment struct {
	managed.Record

	WebsiteID   string // empty: for flags of all websites of the organization
	Description string
	// Definition is shared and must not be changed. The store's lists leave out all of it
	// but the key.
	Definition flageval.Segment
}

// Key is what conditions name the segment by.
func (s *Segment) Key() string { return s.Definition.Key }

// SegmentFields are what a caller chooses about a segment. Those that are nil are empty in
// a new one, and stay as they are in one that there is.
type SegmentFields struct {
	Name        *string // empty for the key
	Description *string
	UserIDs     *[]string
	Emails      *[]string
	Conditions  *flageval.Conditions // one without any for none
}

// apply changes a segment by the fields. All that is wrong with them is in the Validation
// error that is returned.
func (f *SegmentFields) apply(s *Segment) error {
	var bad apierr.Rejection
	s.Name = named(&bad, f.Name, s.Name, s.Key())
	managed.Apply(f.Description, func(v string) { s.Description = text(&bad, "description", v, MaxDescriptionLen) })
	managed.Apply(f.UserIDs, func(v []string) { s.Definition.UserIDs = some(v) })
	managed.Apply(f.Emails, func(v []string) { s.Definition.Emails = some(v) })
	managed.Apply(f.Conditions, func(v flageval.Conditions) {
		if s.Definition.Conditions = &v; len(v.All)+len(v.Any) == 0 {
			s.Definition.Conditions = nil
		}
	})
	tell(&bad, s.Definition.Check())
	fits(&bad, s.Definition)
	return bad.Err()
}

// tell notes what is wrong with a definition.
func tell(bad *apierr.Rejection, problems []flageval.Problem) {
	for _, p := range problems {
		bad.Add(p.Path, p.Rule, "%s %s", p.Path, p.Message)
	}
}

// fits notes a definition that is too large.
func fits(bad *apierr.Rejection, definition any) {
	text, err := wire.CompactJSON(definition)
	if err != nil {
		bad.Add("", "invalid", "The definition cannot be encoded as JSON")
	}
	if len(text) > MaxBytes {
		bad.Add("", "too_long", "The definition has %d bytes; at most %d are allowed", len(text), MaxBytes)
	}
}
