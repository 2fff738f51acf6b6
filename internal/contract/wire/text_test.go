package wire_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/contract/wire"
)

func TestTextIsAsShortAsJSONAllows(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                `""`,
		"longer than a word, plain":       `"longer than a word, plain"`,
		"\"\\ in front, and behind \"\\":  `"\"\\ in front, and behind \"\\"`,
		"\b\f\n\r\t":                      `"\b\f\n\r\t"`,
		"12345678\x00\x1f":                `"12345678\u0000\u001f"`,
		"é < > & 😀 \u2028 \x7f, as it is": "\"é < > & 😀 \u2028 \x7f, as it is\"",
		"no text: \xff":                   "\"no text: \xff\"",
	} {
		if got := wire.AppendText([]byte("x"), []byte(text)); string(got) != "x"+want {
			t.Errorf("AppendText(%q) = %s, want %s", text, got[1:], want)
		}
	}
}

func FuzzAppendText(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\\x00\n\r\t\x7f", "ü\u2028😀", "12345678\"", "\xff\xc3"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		if !utf8.Valid(s) {
			return
		}
		var got string
		if text := wire.AppendText(nil, s); json.Unmarshal(text, &got) != nil || got != string(s) {
			t.Errorf("%q became %s", s, text)
		}
		safe, err := json.Marshal(string(s))
		if err != nil {
			t.Fatal(err)
		}
		if text := wire.AppendHTMLSafe(nil, string(s)); !bytes.Equal(text, safe) {
			t.Errorf("%q became %s, want %s", s, text, safe)
		}
	})
}

func TestHTMLSafeTextIsAsEncodingJSONHasIt(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "plain", "<&>", "\"\\\n", "é", "a\xff\xfeb", "\u2028"} {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := wire.AppendHTMLSafe([]byte("x"), s); string(got) != "x"+string(want) {
			t.Errorf("AppendHTMLSafe(%q) = %s, want %s", s, got[1:], want)
		}
	}
}
