package store

import (
	"errors"

	"github.com/millrace/millrace/internal/platform/credential"
	"github.com/millrace/millrace/internal/platform/lifecycle"
)

// Awaited is the store as a daemon waits for it: it answers and is migrated.
func (s *Store) Awaited() lifecycle.Server {
	return lifecycle.Server{
		Name: "the metadata store", Reach: s.Reach, Check: s.CheckSchema, Unprepared: ErrSchema, Hopeless: hopeless,
	}
}

func hopeless(err error) bool {
	return credential.Rejected(err) || !Unavailable(err) && !errors.Is(err, ErrSchema)
}
