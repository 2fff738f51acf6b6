// Package control says what processes tell each other about changes of the
// control plane.
//
// A change is announced in the transaction that makes it, into the outbox of the
// metadata store, and goes from there to the topic control.v1, which every
// process that caches reads. The package promises only the shape of what is
// told; what a reader does with it stands in its own package.
package control

import "time"

// Kind is what kind of record changed.
type Kind string

// The kinds of records that processes cache.
const (
	Key     Kind = "key"
	Website Kind = "website"
	Session Kind = "session"
	// Organization is an organization's own settings, its custom limits included.
	Organization Kind = "organization"
	// Quota is whether an organization's month is used up; State says it.
	Quota Kind = "quota"
)

// Change says that a record is not any more as others may remember it.
type Change struct {
	Kind           Kind
	ID             string // of the record
	OrganizationID string
	// Version is the record's after the change; what is remembered of an older
	// version is wrong, and news of an older version are no news.
	Version int64
	// Refs are the names under which caches hold the record, before and after the
	// change: hex SHA-256 of a key's or a session's secret, ids and client ids of a
	// website. They are names and no secrets.
	Refs []string
	// State is the record itself where readers need no more than this, such as a
	// quota's decision; JSON, or empty when readers ask the store.
	State string
	At    time.Time // of the change
}
