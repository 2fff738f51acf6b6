// Package managed is what all that a tenant manages has in common: what is kept of each
// record, how a change names the record that it is about, how two changes of one version
// are kept apart, and how the audit and other processes are told.
//
// It promises that of two changes made on one version one fails, that a change which
// changes nothing is none, and that the audit's entry and the change event of a change
// are made from the same two records. A noun adds its own fields and rules, and says by a
// Noun how it is told of: see websites and API keys. It does not keep records; package
// store does.
package managed

import (
	"errors"
	"time"

	"github.com/millrace/millrace/internal/contract/id"
)

// ErrChanged says that a record is not any more what the change was made on.
var ErrChanged = errors.New("the record has changed since it was read")

// RestoreFor is how long a deleted record can be restored, where it can be.
const RestoreFor = 30 * 24 * time.Hour

// Record is what is kept of every record, whatever it is; nouns embed it. Times are UTC,
// to the millisecond; a zero time means never. A record that was read is shared and must
// not be changed.
type Record struct {
	ID             string // the noun's prefix and a ULID
	OrganizationID string // empty when the organization is gone: the record is not usable
	Name           string
	// Version is 1 at first and one more with every change.
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time // of the last change
	DeletedAt time.Time // zero while it exists
	CreatedBy string    // id of who made it; empty for the operator's command
}

// New returns what is kept of a record that is made at now; prefix begins its id.
func New(prefix, organizationID, createdBy string, now time.Time) Record {
	return Record{
		ID: id.New(prefix), OrganizationID: organizationID, Version: 1,
		CreatedAt: now, UpdatedAt: now, CreatedBy: createdBy,
	}
}

// Common returns the part that all records have.
func (r *Record) Common() *Record { return r }

// Deleted reports whether the record is deleted.
func (r *Record) Deleted() bool { return !r.DeletedAt.IsZero() }

// Restorable reports whether the record is deleted and not for too long.
func (r *Record) Restorable(now time.Time) bool {
	return r.Deleted() && now.Before(r.DeletedAt.Add(RestoreFor))
}

// Step makes the record the next version, of now. It is for copies.
func (r *Record) Step(now time.Time) {
	r.Version++
	r.UpdatedAt = now
}
