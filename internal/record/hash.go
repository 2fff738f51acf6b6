package record

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
)

// HashOf returns the hash of an event: the first 16 bytes of SHA-256 over
// len(owner) as four bytes, big-endian, owner, len(id) likewise, id. The lengths
// keep two different pairs from being one text, so that nobody can craft an
// event that is taken for another owner's.
func HashOf(owner, id []byte) Hash {
	var space [256]byte // enough for nearly all; a longer id is copied to the heap
	b := binary.BigEndian.AppendUint32(space[:0], uint32(len(owner)))
	b = append(b, owner...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(id)))
	b = append(b, id...)
	sum := sha256.Sum256(b)
	return Hash(sum[:len(Hash{})])
}

// hashHexLen is the length of a Hash in hexadecimal digits.
const hashHexLen = 2 * len(Hash{})

// Hex returns the hash as 32 hexadecimal digits in lower case.
func (h Hash) Hex() string { return hex.EncodeToString(h[:]) }

// AppendHex appends what Hex returns.
func (h Hash) AppendHex(dst []byte) []byte { return hex.AppendEncode(dst, h[:]) }

var errHash = errors.New("an event hash must be 32 hexadecimal digits")

// ParseHash reads what Hex returns.
func ParseHash(b []byte) (Hash, error) {
	var h Hash
	if len(b) != hashHexLen {
		return Hash{}, errHash
	}
	if _, err := hex.Decode(h[:], b); err != nil {
		return Hash{}, errHash
	}
	return h, nil
}
