package flageval

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// murmur3 is MurmurHash3_x86_32 with seed 0, the function that other evaluators of flags
// draw by too (A. Appleby, SMHasher, MurmurHash3.cpp; in the public domain).
func murmur3(b []byte) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	h, n := uint32(0), uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b) * c1
		h ^= bits.RotateLeft32(k, 15) * c2
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	if len(b) > 0 {
		k := uint32(0)
		for _, c := range slices.Backward(b) {
			k = k<<8 | uint32(c)
		}
		h ^= bits.RotateLeft32(k*c1, 15) * c2
	}
	h ^= n
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
