// Package erasure takes away what is stored of a visitor, or of a website that was
// deleted and can no longer be restored.
//
// An erasure goes through four states. It is requested. It is tombstoned: sinks
// leave out what comes of it from then on, out of a topic, a replay or a dead
// letter. It is deleting: once no insert can be under way any more that was built
// before, the rows of every table that has any are deleted, and looked for again.
// It is done when there are none.
//
// The package promises that an erasure is never done while a row is left, that it
// goes on wherever a process has stopped, that asking twice does no harm, and that
// neither the erasure nor its tombstones name the visitor: both hold hashes. It
// refuses to guess: a visitor id that several users were told to have is theirs
// too, and is left, and what is stored under an id hashed with a salt that is
// destroyed cannot be found by the id that went into it. Both are told in the
// response.
//
// Topics, dead letters and backups keep what they hold until their retention ends;
// docs/guides/privacy.md says so to people.
package erasure

import (
	"errors"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/contract/id"
	"github.com/millrace/millrace/internal/privacy/tombstone"
	"github.com/millrace/millrace/internal/tenant/audit"
)

// ErrNotFound says that there is no such erasure.
var ErrNotFound = errors.New("erasure not found")

// State says how far an erasure got.
type State string

// The states, in their order.
const (
	Requested  State = "requested"
	Tombstoned State = "tombstoned"
	Deleting   State = "deleting"
	Done       State = "done"
)

// States lists them.
var States = []State{Requested, Tombstoned, Deleting, Done}

// Stone is one id that an erasure is about.
type Stone struct {
	Kind tombstone.Kind
	ID   tombstone.ID
}

// Erasure is one request to erase, and how far it got. Times are UTC.
type Erasure struct {
	ID             string // "era_" + ULID
	OrganizationID string
	OwnerID        string         // the website, or the organization for what belongs to no website
	Kind           tombstone.Kind // what was asked for: a website, a profile, or a visitor id
	Stones         []Stone        // all ids that it is about, each once; of a website none
	Before         time.Time      // of receipt: what came later stays
	// Days are the UTC days, as YYYY-MM-DD, whose hashed ids are among the stones of
	// a visitor: those whose salts were still known.
	Days []string
	// Shared is how many visitor ids of a profile were left, because other profiles
	// were told to have them too.
	Shared   int
	State    State
	Deleted  map[string]int64 // rows found and deleted, by table
	Failures int              // attempts that failed since the last one that did not
	By       audit.Actor

	RequestedAt  time.Time
	TombstonedAt time.Time // zero until it was
	DoneAt       time.Time // zero until it is
}

// resource is what the audit calls an erasure.
const resource = "erasure"

// Entry is how the audit remembers that an erasure was requested or completed.
func (e *Erasure) Entry(action string, by audit.By, at time.Time) audit.Entry {
	return audit.New(by, e.OrganizationID, resource, action, at).Of(e.ID, string(e.Kind)+" of "+e.OwnerID)
}

func newErasure(kind tombstone.Kind, organizationID, ownerID string, before, now time.Time, by audit.Actor) *Erasure {
	return &Erasure{
		ID: id.New("era"), OrganizationID: organizationID, OwnerID: ownerID, Kind: kind, Before: before,
		State: Requested, Deleted: map[string]int64{}, By: by, RequestedAt: now,
	}
}

// Tombstones returns what sinks are told.
func (e *Erasure) Tombstones() []tombstone.Tombstone {
	if e.Kind == tombstone.Website {
		return []tombstone.Tombstone{{Owner: e.OwnerID, Kind: tombstone.Website, Before: e.Before}}
	}
	all := make([]tombstone.Tombstone, len(e.Stones))
	for i, s := range e.Stones {
		all[i] = tombstone.Tombstone{Owner: e.OwnerID, Kind: s.Kind, ID: s.ID, Before: e.Before}
	}
	return all
}

// add adds ids of a kind and reports whether any was new.
func (e *Erasure) add(kind tombstone.Kind, ids ...[]byte) (grew bool) {
	for _, text := range ids {
		s := Stone{kind, tombstone.IDOf(kind, []byte(e.OwnerID), text)}
		if len(text) > 0 && !slices.Contains(e.Stones, s) {
			e.Stones = append(e.Stones, s)
			grew = true
		}
	}
	return grew
}
