package event

import "testing"

// Ids of events that are known by what they say are hashes of these bytes.
func TestQuotedTextKeepsItsBytes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       `""`,
		"a\"\\é<":                `"a\"\\é<"`,
		"\x00\b\t\n\f\r\x1f\x7f": `"\u0000\u0008\u0009\u000a\u000c\u000d\u001f` + "\x7f\"",
		"a\xff":                  "\"a\xff\"",
	} {
		if got := AppendQuoted([]byte("x"), []byte(text)); string(got) != "x"+want {
			t.Errorf("AppendQuoted(%q) = %s, want %s", text, got[1:], want)
		}
	}
}
