package topics

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// EID returns the identity of an event as the header eid has it: 32 hexadecimal
// digits. Two records are the same event exactly when their identities are equal.
// Owner and id are those of the record's value.
func EID(owner, id string) string {
	h := sha256.New()
	for _, part := range []string{owner, id} {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
