package analytics

import (
	"context"
	"time"
)

// DirtyDays knows the UTC days on which the rollups of a subject say something
// else than its events, or may: those are answered from the events.
//
// It returns the midnights at which they begin, in order, each once; for an
// organization those of all of its owners. What it returns may be some seconds
// old. When it cannot know it returns an error, for a response that may be wrong is
// none. It is safe for concurrent use.
type DirtyDays interface {
	DirtyDays(ctx context.Context, s Subject) ([]time.Time, error)
}
