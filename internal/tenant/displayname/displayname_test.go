package displayname_test

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/displayname"
)

func TestALabelHasOneFormAndCanBeShownAnywhere(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Shop":                     "Shop",
		"  Shop \t\n":              "Shop",
		"u\u0308ber":               "\u00fcber", // NFD and NFC are one display name
		"\u00fcber":                "\u00fcber",
		"\u2126":                   "\u03a9", // the sign of the ohm is the letter
		"日本 🦫":                     "日本 🦫",
		"می\u200cخواهم":            "می\u200cخواهم",
		"👩\u200d🚀":                 "👩\u200d🚀",
		"O'Neil & Söhne <b>":       "O'Neil & Söhne <b>", // whoever shows it escapes it
		"":                         "",
		"   ":                      "",
		"a\nb":                     "",
		"a\r\nX-Injected: 1":       "",
		"a\x00b":                   "",
		"a\u2028b":                 "",
		"\u202Egnp.exe":            "", // reads backwards
		"a\u2066b":                 "",
		"a\u200Bb":                 "", // nobody sees it
		"\ufeffa":                  "",
		"\u200d":                   "",
		"\u3164":                   "", // a letter that shows nothing
		"\u0301":                   "",
		"\ue000":                   "",
		"\U0010ffff":               "",
		"a\xff":                    "",
		"\xed\xa0\x80":             "",
		strings.Repeat("ü", 10):    strings.Repeat("ü", 10),
		strings.Repeat("ü", 11):    "",
		strings.Repeat("x", 100e3): "",
	} {
		got, err := displayname.Clean("name", text, 10)
		if text == "O'Neil & Söhne <b>" || text == "👩\u200d🚀" {
			got, err = displayname.Clean("name", text, 100)
		}
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Clean(%.40q) = %q, %v, want %q", text, got, err, want)
		}
		if err != nil && !apierr.Is(err, apierr.Validation) {
			t.Errorf("Clean(%.40q): %v is no Validation error", text, err)
		}
	}
}

func TestARejectionNamesTheFieldAndTheRule(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]apierr.Detail{
		"": {
			Index: apierr.NoIndex, Field: "tags[1]", Rule: "too_short", Message: "tags[1] must have 1 to 3 characters; it has 0",
		},
		"abcd": {
			Index: apierr.NoIndex, Field: "tags[1]", Rule: "too_long", Message: "tags[1] must have 1 to 3 characters; it has 4",
		},
		"a\u202eb": {
			Index: apierr.NoIndex, Field: "tags[1]", Rule: "invalid_text",
			Message: "tags[1] must not contain the character U+202E",
		},
		"\u0301": {
			Index:   apierr.NoIndex,
			Field:   "tags[1]",
			Rule:    "invalid_text",
			Message: "tags[1] must contain a visible character",
		},
		"\xff": {
			Index: apierr.NoIndex, Field: "tags[1]", Rule: "invalid_text", Message: "tags[1] must be valid UTF-8",
		},
		"e\u0301xy\u0301": {}, // three characters in NFC
	} {
		_, err := displayname.Clean("tags[1]", text, 3)
		if want.Field == "" {
			if err != nil {
				t.Errorf("Clean(%q) = %v", text, err)
			}
			continue
		}
		if f := apierr.Of(err); len(f.Details) != 1 || f.Details[0] != want || f.Message != want.Message {
			t.Errorf("Clean(%q) = %+v, want %+v", text, f, want)
		}
	}
}
