// Package control keeps what processes remember of the control plane up to date.
//
// A change is announced in the transaction that makes it, into the outbox of the
// metadata store. Relay publishes the outbox to the topic control.v1, and in
// every process that remembers something a Follower reads the topic and passes
// the changes on.
//
// It promises that change events are published after the commit and never before, that
// none is lost while Kafka is away, and that a process which does not hear of
// changes any more, for whatever reason, stops relying on being told. It does not
// promise that change events come once or in order: every change has a version, and an
// older one changes nothing.
//
// A change says what is wrong now, not what is right: caches drop and ask the
// store again. Only what is too dear to ask for, such as the state of a quota,
// travels in the change itself.
package control

import "time"

// Topic is the topic's name, without prefix.
const Topic = "control.v1"

// Kind is what kind of record changed.
type Kind string

// The kinds of records that processes cache.
const (
	Key     Kind = "key"
	Website Kind = "website"
	Session Kind = "session"
	Link    Kind = "link"
	// Flags are all feature flags and segments of an organization: ID is the organization's,
	// and Version that of the set.
	Flags Kind = "flags"
	// Organization is an organization's own settings, its custom limits included.
	Organization Kind = "organization"
	// Quota is whether an organization's month is used up; State says it.
	Quota Kind = "quota"

	// heartbeat is no record: it says that everything before it was published.
	heartbeat Kind = "beat"
)

// Change says that a record is not any more as others may remember it.
type Change struct {
	Kind           Kind
	ID             string // of the record; of Link empty where what is blocked changed
	OrganizationID string
	// Version is the record's after the change; what is remembered of an older
	// version is wrong, and change events of an older version change nothing.
	Version int64
	// Refs are the names under which caches hold the record, before and after the
	// change: hex SHA-256 of a key's or a session's secret, ids and client ids of a
	// website, keys of a link on its host. They are names and no secrets. Change events of kind
	// Link without any are of what hosts know besides links: domains and blocks.
	Refs []string
	// State is the record itself where readers need no more than this, such as a
	// quota's decision; a JSON object, or empty when readers ask the store.
	State string
	// Gone says that the record is no more.
	Gone bool
	At   time.Time // of the change; for people, nothing is decided by it

	// Epoch counts the lives of the metadata store: it grows when the store was
	// put back to an earlier state, after which versions come again. It is not for
	// those who announce; the relay fills it in.
	Epoch int64
}

// Newer reports whether the change is new to somebody who knows the record as
// of an epoch and version.
func (c *Change) Newer(epoch, version int64) bool {
	if c.Epoch != epoch {
		return c.Epoch > epoch
	}
	return c.Version > version
}

// Posted is a change in the outbox.
type Posted struct {
	Change

	Seq int64 // of the row
}

// Head is what an outbox has come to.
type Head struct {
	Epoch int64
	// Relayed is the highest row that was published and removed.
	Relayed int64
}

// behind reports whether the head is older than another one: the store that it
// stands in was put back.
func (h Head) behind(other Head) bool {
	if h.Epoch != other.Epoch {
		return h.Epoch < other.Epoch
	}
	return h.Relayed < other.Relayed
}
