// Package tombstone says what of the topics is not to be stored any more: the
// records of websites and visitors that were erased, up to a moment.
//
// It promises that a tombstone never names a person: it holds a hash of the id,
// over the owner too, so that the same id of two owners looks different. Whoever
// knows an id can find out whether it was erased; nobody can read it from the
// tombstone. A tombstone is taken away only once nothing that it is about can come
// back out of a topic or a dead letter; that of a website never is.
//
// A Set answers for every record that is stored, so it costs nothing while there
// are no tombstones, one lookup for an owner who has none, and one comparison for
// a record that is younger than all of its owner's.
package tombstone

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// Kind says what a tombstone is about. Values are stored.
type Kind string

// The kinds.
const (
	// Website is everything of an owner.
	Website Kind = "website"
	// Profile is what bears a profile id.
	Profile Kind = "profile"
	// Visitor is what bears an anonymous id, as it is stored: the hashed one where it
	// is hashed.
	Visitor Kind = "visitor"
)

// ID stands for a profile or anonymous id of an owner: the first 128 bits of
// SHA-256 over kind, owner and id, with a zero byte after the first two. That of a
// website is zero.
type ID [16]byte

// IDOf returns the ID of a profile or anonymous id.
func IDOf(kind Kind, owner, id []byte) ID {
	var space [256]byte
	b := append(append(space[:0], kind...), 0)
	b = append(append(b, owner...), 0)
	sum := sha256.Sum256(append(b, id...))
	return ID(sum[:len(ID{})])
}

// String returns the ID as it is stored: 32 hexadecimal digits, and nothing for
// the zero one.
func (id ID) String() string {
	if id == (ID{}) {
		return ""
	}
	return hex.EncodeToString(id[:])
}

// ParseID reads what String wrote.
func ParseID(text string) (id ID, err error) {
	if text == "" {
		return id, nil
	}
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("%.40q is not the id of a tombstone", text)
	}
	return ID(b), nil
}

// Tombstone says that nothing of its subject that was received at or before a
// moment is to be stored.
type Tombstone struct {
	Owner  string
	Kind   Kind
	ID     ID
	Before time.Time
}

// Forever is the moment of a tombstone whose subject cannot come back.
var Forever = time.Date(2199, 1, 1, 0, 0, 0, 0, time.UTC)
