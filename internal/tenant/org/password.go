package org

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Limits of a password. The upper one bounds the work of hashing it.
const (
	MinPasswordLen   = 8    // code points
	MaxPasswordBytes = 1024 // bytes
)

// Costs are those of one hash with argon2id.
type Costs struct {
	MemoryKiB uint32 // at least 8 for each lane
	Passes    uint32 // at least 1
	Lanes     uint8  // at least 1
}

// current are the costs of new hashes: OWASP's first choice for argon2id, about
// 30 ms and 19 MiB on one core.
var current = Costs{MemoryKiB: 19 << 10, Passes: 2, Lanes: 1}

// The most that a stored hash may ask for, so that a forged row cannot take the
// machine down.
var most = Costs{MemoryKiB: 256 << 10, Passes: 16, Lanes: 16}

const (
	saltLen = 16 // bytes
	tagLen  = 32 // bytes
)

var errNotPHC = errors.New("the stored password hash is not argon2id in PHC form")

var b64 = base64.RawStdEncoding

// HashPassword returns the argon2id hash of a password in PHC form, with a fresh
// salt: $argon2id$v=19$m=19456,t=2,p=1$salt$hash.
func HashPassword(password string) (string, error) {
	if err := checkPassword(password); err != nil {
		return "", err
	}
	return current.hash(password), nil
}

func (p Costs) hash(text string) string {
	var salt [saltLen]byte
	rand.Read(salt[:])
	tag := p.tag(text, salt[:], tagLen)
	return fmt.Sprintf("$argon2id$v=%d$%s$%s$%s", argon2.Version,
		p, b64.EncodeToString(salt[:]), b64.EncodeToString(tag))
}

// checkPassword returns a Validation error for a password that is too short or
// too long. There is no other rule: what people are made to add to a password
// they put where everybody does.
func checkPassword(password string) error {
	if n := utf8.RuneCountInString(password); n < MinPasswordLen || len(password) > MaxPasswordBytes ||
		!utf8.ValidString(password) {
		return apierr.Invalid("password", "invalid_password",
			fmt.Sprintf("password must have at least %d characters and at most %d bytes", MinPasswordLen, MaxPasswordBytes))
	}
	return nil
}

// VerifyPassword reports whether the password is the one that hash was made
// from. An error means that hash cannot be read, not that the password is wrong.
func VerifyPassword(hash, password string) (bool, error) {
	params, salt, want, err := parsePHC(hash)
	if err != nil {
		return false, err
	}
	if len(password) > MaxPasswordBytes {
		return false, nil
	}
	return subtle.ConstantTimeCompare(params.tag(password, salt, len(want)), want) == 1, nil
}

const costsFormat = "m=%d,t=%d,p=%d"

// String writes the costs as PHC does.
func (p Costs) String() string {
	return fmt.Sprintf(costsFormat, p.MemoryKiB, p.Passes, p.Lanes)
}

// tag hashes the password in Unicode's form NFC: keyboards differ in how they
// write an ü.
func (p Costs) tag(password string, salt []byte, n int) []byte {
	return argon2.IDKey(norm.NFC.Bytes([]byte(password)), salt, p.Passes, p.MemoryKiB, p.Lanes, uint32(n))
}

func parsePHC(hash string) (p Costs, salt, tag []byte, err error) {
	fields := strings.Split(hash, "$")
	if len(fields) != 6 || fields[0] != "" || fields[1] != "argon2id" || fields[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return p, nil, nil, errNotPHC
	}
	_, err = fmt.Sscanf(fields[3], costsFormat, &p.MemoryKiB, &p.Passes, &p.Lanes)
	if err != nil || p.String() != fields[3] { // Sscanf overlooks what follows
		return p, nil, nil, errNotPHC
	}
	salt, errSalt := b64.DecodeString(fields[4])
	tag, errTag := b64.DecodeString(fields[5])
	if errSalt != nil || errTag != nil || len(salt) < 8 || len(salt) > 64 || len(tag) < 16 || len(tag) > 64 ||
		!p.within(most) {
		return p, nil, nil, errNotPHC
	}
	return p, salt, tag, nil
}

// within reports whether the costs are possible and at most those of limit.
func (p Costs) within(limit Costs) bool {
	return p.Passes >= 1 && p.Lanes >= 1 && p.MemoryKiB >= 8*uint32(p.Lanes) &&
		p.Passes <= limit.Passes && p.Lanes <= limit.Lanes && p.MemoryKiB <= limit.MemoryKiB
}
