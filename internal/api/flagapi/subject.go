package flagapi

import (
	"context"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/tenant/website"
)

// Sets are the flags of organizations; *flagset.Memory is them.
type Sets interface {
	// Get returns what is held, or reads it. An organization without flags has an empty set.
	// It returns a ServiceUnavailable error where nothing is held and the store cannot be
	// asked, or what is held is too old.
	Get(ctx context.Context, organizationID string) (*flagset.Set, error)
	// AtLeast is Get, but waits up to a second for a set that is not before a mark; then it
	// returns what there is.
	AtLeast(ctx context.Context, organizationID string, mark flagset.Mark) (*flagset.Set, error)
}

// Websites finds websites by their client ids and ids. An unknown one is website.ErrNotFound,
// and a store that cannot be asked a ServiceUnavailable error.
type Websites interface {
	FlagWebsite(ctx context.Context, ref string) (*website.Website, error)
	// Remembered returns what FlagWebsite knows without asking anybody, however old it is;
	// nil where it would ask.
	Remembered(ref string) *website.Website
}

// subject is whose flags are asked for, and whether by somebody who is trusted.
type subject struct {
	website *website.Website
	set     *flagset.Set
	trusted bool // an API key for the website: server flags are visible too
}

// sees reports whether the caller may know of a flag: an inactive one, and one that is outside
// of its schedule, is for the route to judge.
func (s *subject) sees(f *flagset.Flag) bool {
	return s.trusted || f.About.Visibility == flag.Public
}
