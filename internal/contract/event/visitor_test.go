package event

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

func TestHashedVisitorIsSHA256OfIDAndSalt(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"anon_1", strings.Repeat("é", 256), strings.Repeat("😀", 256)} {
		want := fmt.Sprintf("x%x", sha256.Sum256([]byte(id+"salt of the day")))
		if got := string(AppendHashedVisitor([]byte("x"), []byte(id), []byte("salt of the day"))); got != want {
			t.Errorf("AppendHashedVisitor(%.9q) = %q, want %q", id, got, want)
		}
	}
	if got := AppendHashedVisitor(nil, nil, []byte("salt")); len(got) != 0 {
		t.Errorf("no visitor is hashed to %q", got)
	}
}

func TestHidesVisitorPrefersTheEventsChoice(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		event, website Anonymize
		want           bool
	}{
		{AnonymizeUnset, AnonymizeUnset, true},
		{AnonymizeUnset, AnonymizeTrue, true},
		{AnonymizeUnset, AnonymizeFalse, false},
		{AnonymizeUnset, AnonymizeAuto, true},
		{AnonymizeTrue, AnonymizeFalse, true},
		{AnonymizeFalse, AnonymizeTrue, false},
		{AnonymizeAuto, AnonymizeFalse, true},
		{AnonymizeShown, AnonymizeTrue, false},
	} {
		if got := HidesVisitor(tc.event, tc.website); got != tc.want {
			t.Errorf("HidesVisitor(%d, %d) = %t, want %t", tc.event, tc.website, got, tc.want)
		}
	}
}

func TestParseAnonymizeKnowsTheSettings(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]Anonymize{
		"": AnonymizeUnset, "true": AnonymizeTrue, "false": AnonymizeFalse, "auto": AnonymizeAuto,
	} {
		if got, ok := ParseAnonymize(s); !ok || got != want {
			t.Errorf("ParseAnonymize(%q) = %d, %t", s, got, ok)
		}
	}
	if _, ok := ParseAnonymize("yes"); ok {
		t.Error(`ParseAnonymize("yes") is taken`)
	}
}

// The recipe is written down for those who look for somebody.
func TestAHashedEmailIsSHA256OfTheOwnerAndTheAddressInLowerCase(t *testing.T) {
	t.Parallel()
	want := fmt.Sprintf("xemail:%x", sha256.Sum256([]byte("web_1\x00a.b@example.com")))
	for _, email := range []string{"a.b@example.com", "A.B@Example.COM"} {
		if got := string(AppendHashedEmail([]byte("x"), []byte("web_1"), []byte(email))); got != want {
			t.Errorf("AppendHashedEmail(%s) = %q, want %q", email, got, want)
		}
	}
	if got := string(AppendHashedEmail([]byte("x"), []byte("web_2"), []byte("a.b@example.com"))); got == want {
		t.Error("one address of two websites looks the same")
	}
}

func TestWhatIsTakenForAnEmailAddress(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"a@b": true, "a@b@c": true, "@b": false, "a@": false, "@": false, "user-1": false, "": false,
	} {
		if got := IsEmail(id); got != want {
			t.Errorf("IsEmail(%q) = %t", id, got)
		}
	}
}
