package apikey

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
)

// The format of a secret: prefix, underscore, random part, checksum.
const (
	RandomLen   = 42 // base62 characters from crypto/rand, 250 bits
	ChecksumLen = 6  // base62 digits of the CRC-32 (IEEE) of the random part
	BodyLen     = RandomLen + ChecksumLen
	// MaxPrefixLen bounds the prefix, in bytes.
	MaxPrefixLen = 16
	// HashLen is the length of a secret's hash, in bytes.
	HashLen = sha256.Size

	startLen = 6 // characters of the random part that lists show
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// isBase62 tells for each byte whether it is one of the alphabet.
var isBase62 = func() (set [256]bool) {
	for i := range len(base62) {
		set[base62[i]] = true
	}
	return set
}()

// ValidPrefix reports whether prefix may begin secrets: 1 to MaxPrefixLen
// lower-case ASCII letters and digits, a letter first.
func ValidPrefix(prefix string) bool {
	if prefix == "" || len(prefix) > MaxPrefixLen || prefix[0] < 'a' || prefix[0] > 'z' {
		return false
	}
	for i := range len(prefix) {
		c := prefix[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// Generate returns a new secret. It fails only for a prefix that is not valid.
func Generate(prefix string) (secret string, err error) {
	if !ValidPrefix(prefix) {
		return "", fmt.Errorf("API key prefix %q must be a lower-case letter followed by letters and digits, 1 to %d "+
			"characters in all",
			prefix, MaxPrefixLen)
	}
	b := make([]byte, 0, len(prefix)+1+BodyLen)
	b = append(b, prefix...)
	b = append(b, '_')
	b = appendRandom(b, RandomLen)
	return string(appendChecksum(b, b[len(prefix)+1:])), nil
}

// appendRandom appends n characters of base62, each as likely as the others.
func appendRandom(dst []byte, n int) []byte {
	// 248 is the largest multiple of 62 that a byte holds; bytes from there on
	// are drawn again, because taking them modulo 62 would favour the first
	// characters of the alphabet.
	const fair = byte(256 - 256%len(base62))
	var buf [64]byte
	for n > 0 {
		rand.Read(buf[:]) // never fails: crypto/rand ends the program instead
		for _, c := range buf {
			if n > 0 && c < fair {
				dst = append(dst, base62[int(c)%len(base62)])
				n--
			}
		}
	}
	return dst
}

func appendChecksum(dst, random []byte) []byte {
	sum := checksum(random)
	return append(dst, sum[:]...)
}

// checksum returns the CRC-32 of random in base62, most significant digit
// first, padded with zeros.
func checksum(random []byte) (digits [ChecksumLen]byte) {
	sum := crc32.ChecksumIEEE(random)
	for i := ChecksumLen - 1; i >= 0; i-- {
		digits[i] = base62[sum%uint32(len(base62))]
		sum /= uint32(len(base62))
	}
	return digits
}

// WellFormed reports whether secret has the format with this prefix and its
// checksum fits. It allocates nothing.
func WellFormed(prefix string, secret []byte) bool {
	if len(secret) != len(prefix)+1+BodyLen || string(secret[:len(prefix)]) != prefix || secret[len(prefix)] != '_' {
		return false
	}
	body := secret[len(prefix)+1:]
	for _, c := range body {
		if !isBase62[c] {
			return false
		}
	}
	return checksum(body[:RandomLen]) == [ChecksumLen]byte(body[RandomLen:])
}

// HashOf returns the SHA-256 of a secret, under which stores keep its key.
func HashOf(secret []byte) [HashLen]byte { return sha256.Sum256(secret) }

// Start returns what lists show of a secret: its prefix and the first six
// characters after it, 35 of 250 bits.
func Start(secret string) string {
	return secret[:len(secret)-BodyLen+startLen]
}
