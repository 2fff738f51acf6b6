package millrace

import (
	"encoding/hex"
	"math/rand/v2"
	"time"
)

// newID returns a UUID of version 7: the milliseconds of now and 74 random bits.
// The random numbers are the runtime's, which are seeded by the system for each
// process; an id need be unique, it need not be secret.
func newID(now time.Time) string {
	const version, variant = 0x7000, 0x8000 << 48
	high := uint64(now.UnixMilli())<<16 | version | rand.Uint64()&0xfff //nolint:gosec // see above
	low := uint64(variant) | rand.Uint64()>>2                           //nolint:gosec // see above
	var raw [16]byte
	for i := range 8 {
		shift := 56 - 8*i
		raw[i], raw[8+i] = byte(high>>shift), byte(low>>shift)
	}
	var text [36]byte
	hex.Encode(text[:8], raw[:4])
	hex.Encode(text[9:13], raw[4:6])
	hex.Encode(text[14:18], raw[6:8])
	hex.Encode(text[19:23], raw[8:10])
	hex.Encode(text[24:], raw[10:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}
