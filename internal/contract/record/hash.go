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
	sum := sha256.Sum256(appendHashed(space[:0], owner, id))
	return Hash(sum[:len(Hash{})])
}

// appendHashed appends what HashOf hashes.
func appendHashed(dst, owner, id []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(owner)))
	dst = append(dst, owner...)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(id)))
	return append(dst, id...)
}

// appendHash appends the digits of HashOf(owner, id). The room behind dst serves
// as scratch space.
func appendHash(dst, owner, id []byte) []byte {
	from := len(dst)
	dst = appendHashed(dst, owner, id)
	sum := sha256.Sum256(dst[from:])
	return Hash(sum[:len(Hash{})]).AppendHex(dst[:from])
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
	bad := byte(0)
	for i := range h {
		high, low := nibbles[b[2*i]], nibbles[b[2*i+1]]
		h[i] = high<<4 | low
		bad |= high | low
	}
	if bad > 0xf {
		return Hash{}, errHash
	}
	return h, nil
}

// nibbles are the values of hexadecimal digits, 0xff for all other bytes: every record has
// 32 of them, and a branch for each costs as much as the rest of its headers.
var nibbles = func() (table [256]byte) {
	for i := range table {
		table[i] = 0xff
	}
	for i := range byte(16) {
		table["0123456789abcdef"[i]], table["0123456789ABCDEF"[i]] = i, i
	}
	return table
}()
