//go:build go1.25

package millrace

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzStringsAreEncodedAsEncodingJSONDecodesThem(f *testing.F) {
	for _, s := range []string{
		"", "plain", "quo\"te\\", "\x00\x1f\n\r\t\x7f", "é 漢 😀", "\xff\xfe", "a\xe2\x28\xa1", "\u2028</script>", "\ufffd",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := appendString(nil, s)
		var got string
		if err := json.Unmarshal(b, &got); err != nil || !utf8.Valid(b) {
			t.Fatalf("%q becomes %s: %v", s, b, err)
		}
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var same string
		if err := json.Unmarshal(want, &same); err != nil || got != same {
			t.Errorf("%q is read as %q, want %q", s, got, same)
		}
	})
}

// upset fails to be encoded.
type upset struct{}

// MarshalJSON implements json.Marshaler.
func (upset) MarshalJSON() ([]byte, error) { return nil, errCut }

func TestPropertiesThatAreNoJSONAreToldOf(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{"channel": make(chan int), "function": func() {}, "marshaler": upset{}} {
		e := Event{Name: "x", Properties: map[string]any{"k": v}}
		if _, wrong := e.encode(); !strings.Contains(wrong, "properties cannot be encoded as JSON") {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}
