package wire

import "testing"

func TestAValueOfCSVIsWhatItWas(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":            "",
		"a":           "a",
		`\.`:          `\.`,
		"a b":         "a b",
		" a":          `" a"`,
		"a ":          `"a "`,
		"a,b":         `"a,b"`,
		`"`:           `""""`,
		`say "a", b`:  `"say ""a"", b"`,
		"a\nb\rc\r\n": "\"a\nb\rc\r\n\"",
		"=1+1":        "=1+1",
	} {
		if got := string(AppendCSV([]byte("x;"), []byte(text))); got != "x;"+want {
			t.Errorf("%q is %q, want %q", text, got, "x;"+want)
		}
	}
}
