package record

import (
	"encoding/hex"
	"testing"
)

func TestAHashIsReadAsHexadecimalDigits(t *testing.T) {
	t.Parallel()
	good := []byte("4da8fb10600576d2b955d1f591481015")
	for at := range good {
		for c := range 256 {
			text := append([]byte(nil), good...)
			text[at] = byte(c)
			want, wantErr := hex.DecodeString(string(text))
			got, err := ParseHash(text)
			if (err == nil) != (wantErr == nil) || err == nil && got != Hash(want) {
				t.Fatalf("%q is read as %x, %v; want %x, %v", text, got, err, want, wantErr)
			}
		}
	}
	for _, text := range []string{"", string(good[:31]), string(good) + "0"} {
		if _, err := ParseHash([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
