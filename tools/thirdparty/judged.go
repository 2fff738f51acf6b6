package thirdparty

import (
	"crypto/sha256"
	"encoding/hex"
)

// judged holds the licences of files that no program can tell, read by a person,
// under the SHA-256 of their text: when it changes, somebody reads it again.
var judged = map[string][]string{
	// modernc.org/libc: Go, musl (whose parts are under MIT, BSD or nobody's),
	// go-netdb and nixpkgs.
	"f597097efe3d97021f89170746bd3a0fb9a8b6fb26b82043ed68a4e0283bee6c": {
		"BSD-2-Clause", "BSD-3-Clause", "MIT", PublicDomain,
	},
	// modernc.org/sqlite: its first section is what is linked; the others are of
	// its tests.
	"b4366b9c27a9364633e015011a231913ed19bf1228f335bf617e50a6f7b168a6": {"BSD-3-Clause", "MIT", PublicDomain},
	// modernc.org/sqlite: the dedication of SQLite itself.
	"8438c9c89b849131ead81d5435cb97fcf052df5b0b286dda8a2d4c29e6cb3fd0": {PublicDomain},
	// modernc.org/memory: where its logo is from, which is not linked.
	"5ae5bee3072a841376451b48d8cfcec7188e10543926d5870828d36c8a750dc5": nil,
	// github.com/miekg/dns: whose it is, and that LICENSE is the licence.
	"66550c0ad5ca7ec1e08683e5f872cc45c741f311eee3b8ee484206ecbf9c740d": {"BSD-3-Clause"},
}

// judgement returns what a person found in a text.
func judgement(text []byte) (licences []string, found bool) {
	sum := sha256.Sum256(text)
	licences, found = judged[hex.EncodeToString(sum[:])]
	return licences, found
}
