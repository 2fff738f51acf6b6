package token_test

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/tenant/token"
)

func TestATokenIsWellFormedAndNoTwoAreTheSame(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		text, hash := token.New()
		if !token.WellFormed(text) || len(text) != token.Len || seen[text] || hash != token.HashOf(text) {
			t.Fatalf("New() = %q, %x", text, hash)
		}
		seen[text] = true
	}
}

func TestOtherTextsAreNoTokens(t *testing.T) {
	t.Parallel()
	good, _ := token.New()
	for _, text := range []string{
		// the last has bits set that mean nothing
		"", "x", good[1:], good + "A", good[:42] + "=", good[:42] + "+", good[:42] + " ", strings.Repeat("_", 43),
		strings.Repeat("ü", 43),
	} {
		if token.WellFormed(text) {
			t.Errorf("WellFormed(%q)", text)
		}
	}
}
