package storetest

import (
	"bytes"
	"testing"
)

var secretTests = map[string]func(*testing.T, *Fixture){
	"a secret is the same in every process, and each name has its own": func(t *testing.T, f *Fixture) {
		get := func(name string) []byte {
			t.Helper()
			secret, err := f.Open().Secret(t.Context(), name)
			if err != nil || len(secret) != 32 {
				t.Fatalf("Secret(%s) = %d bytes, %v, want 32", name, len(secret), err)
			}
			return secret
		}
		f.Store()
		first := get("one")
		if !bytes.Equal(get("one"), first) {
			t.Error("another process got another secret")
		}
		if bytes.Equal(get("two"), first) {
			t.Error("two names have the same secret")
		}
	},
}
