package org_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/platform/fair"
	"github.com/millrace/millrace/internal/tenant/org"
)

func TestPasswordHashIsPHCWithTheCostsThatOWASPAsksFor(t *testing.T) {
	t.Parallel()
	a, err := org.HashPassword("correct horse")
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$`)
	if !form.MatchString(a) {
		t.Errorf("HashPassword() = %q", a)
	}
	inTurn, err := org.NewPasswords().Hash(t.Context(), fair.Owner{}, "correct horse")
	if err != nil || !form.MatchString(inTurn) {
		t.Errorf("Passwords.Hash() = %q, %v", inTurn, err)
	}
	b, err := org.HashPassword("correct horse")
	if err != nil || a == b {
		t.Errorf("two hashes of one password are %q and %q, %v; want two salts", a, b, err)
	}
}

func TestVerifyPasswordTellsRightFromWrong(t *testing.T) {
	t.Parallel()
	hash, err := org.HashPassword("pässwörd")
	if err != nil {
		t.Fatal(err)
	}
	for password, want := range map[string]bool{
		"pässwörd": true, "pässwörD": false, "": false, "xpässwörd": false,
		strings.Repeat("x", org.MaxPasswordBytes+1): false,
	} {
		if got, err := org.VerifyPassword(hash, password); got != want || err != nil {
			t.Errorf("VerifyPassword(%q) = %t, %v, want %t", password, got, err, want)
		}
	}
}

// The hash is one of the test vectors of the reference implementation.
func TestVerifyPasswordReadsHashesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	const hash = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	if ok, err := org.VerifyPassword(hash, "password"); !ok || err != nil {
		t.Errorf("VerifyPassword() = %t, %v", ok, err)
	}
}

func TestPasswordHasItsLimits(t *testing.T) {
	t.Parallel()
	for password, want := range map[string]bool{
		strings.Repeat("ü", org.MinPasswordLen-1):   false,
		strings.Repeat("ü", org.MinPasswordLen):     true,
		strings.Repeat("x", org.MaxPasswordBytes):   true,
		strings.Repeat("x", org.MaxPasswordBytes+1): false,
	} {
		if _, err := org.HashPassword(password); (err == nil) != want {
			t.Errorf("%d bytes: error %v, want success %t", len(password), err, want)
		}
	}
}

func TestHashesThatAreForgedOrForeignAreErrors(t *testing.T) {
	t.Parallel()
	const salt, tag = "c29tZXNhbHRzb21lc2FsdA", "c29tZXRhZ3NvbWV0YWdzb21ldGFnc29tZXRhZ3NvbWU"
	for name, hash := range map[string]string{
		"empty":            "",
		"bcrypt":           "$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy",
		"argon2i":          "$argon2i$v=19$m=19456,t=2,p=1$" + salt + "$" + tag,
		"another version":  "$argon2id$v=16$m=19456,t=2,p=1$" + salt + "$" + tag,
		"no passes":        "$argon2id$v=19$m=19456,t=0,p=1$" + salt + "$" + tag,
		"no lanes":         "$argon2id$v=19$m=19456,t=2,p=0$" + salt + "$" + tag,
		"too much memory":  "$argon2id$v=19$m=4194304,t=2,p=1$" + salt + "$" + tag,
		"too many passes":  "$argon2id$v=19$m=19456,t=1000,p=1$" + salt + "$" + tag,
		"too little":       "$argon2id$v=19$m=4,t=2,p=1$" + salt + "$" + tag,
		"costs not digits": "$argon2id$v=19$m=x,t=2,p=1$" + salt + "$" + tag,
		"text after costs": "$argon2id$v=19$m=19456,t=2,p=1,q=1$" + salt + "$" + tag,
		"salt not base64":  "$argon2id$v=19$m=19456,t=2,p=1$!!$" + tag,
		"tag cut short":    "$argon2id$v=19$m=19456,t=2,p=1$" + salt + "$c29t",
		"a field too many": "$argon2id$v=19$m=19456,t=2,p=1$" + salt + "$" + tag + "$x",
	} {
		if ok, err := org.VerifyPassword(hash, "password"); ok || err == nil {
			t.Errorf("%s: VerifyPassword() = %t, %v, want an error", name, ok, err)
		}
	}
}
