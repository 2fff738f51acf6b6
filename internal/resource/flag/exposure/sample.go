package exposure

import "math/bits"

// sampleSeed keeps who is sampled apart from who is served what: flags draw by other
// functions, and by their own seeds.
const sampleSeed = 0x6d696c6c72616365

// sampled reports whether a visitor is among the given percent of all, 1 to 100. It is the
// same for every flag and process, and who is among few percent is among more too.
func sampled(id string, percent int) bool {
	if percent >= 100 {
		return true
	}
	high, _ := bits.Mul64(spread(id), 100)
	return int(high) < percent
}

// spread is FNV-1a with the finalizer of MurmurHash3, so that ids that differ by a digit are
// anywhere.
func spread(id string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset ^ sampleSeed)
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * prime
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
