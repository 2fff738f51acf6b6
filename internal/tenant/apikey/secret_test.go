package apikey_test

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/internal/tenant/apikey"
)

func TestSecretsComputedElsewhereAreWellFormedAndHashAlike(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/secrets.txt")
	if err != nil {
		t.Fatal(err)
	}
	vectors := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		vectors++
		f := strings.Fields(line)
		prefix, secret, hash := f[0], []byte(f[1]), f[2]
		if !apikey.WellFormed(prefix, secret) {
			t.Errorf("WellFormed(%q, %q) = false", prefix, secret)
		}
		if got := apikey.HashOf(secret); hex.EncodeToString(got[:]) != hash {
			t.Errorf("HashOf(%q) = %x, want %s", secret, got, hash)
		}
		if len(secret) != len(prefix)+1+48 {
			t.Errorf("%q has %d characters after the underscore, want 48", secret, len(secret)-len(prefix)-1)
		}
	}
	if vectors < 9 {
		t.Errorf("read %d vectors, want 9 at least", vectors)
	}
}

func TestGeneratedSecretIsWellFormedForItsPrefixAlone(t *testing.T) {
	t.Parallel()
	prefixes := rapid.StringMatching(`[a-z][a-z0-9]{0,15}`)
	rapid.Check(t, func(t *rapid.T) {
		prefix, other := prefixes.Draw(t, "prefix"), prefixes.Draw(t, "other")
		secret, err := apikey.Generate(prefix)
		if err != nil {
			t.Fatal(err)
		}
		if !apikey.WellFormed(prefix, []byte(secret)) {
			t.Fatalf("WellFormed(%q, %q) = false", prefix, secret)
		}
		if other != prefix && apikey.WellFormed(other, []byte(secret)) {
			t.Fatalf("WellFormed(%q, %q) = true", other, secret)
		}
	})
}

func TestOneWrongCharacterIsNoticed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret, err := apikey.Generate("mlr")
		if err != nil {
			t.Fatal(err)
		}
		b := []byte(secret)
		at := rapid.IntRange(0, len(b)-1).Draw(t, "position")
		wrong := rapid.Byte().Draw(t, "byte")
		if b[at] == wrong {
			return
		}
		b[at] = wrong
		// CRC-32 finds every change of one byte; the alphabet leaves no second
		// spelling of a checksum.
		if apikey.WellFormed("mlr", b) {
			t.Fatalf("WellFormed(%q) = true; it was %q", b, secret)
		}
	})
}

func TestMalformedSecretsAreRejected(t *testing.T) {
	t.Parallel()
	good, err := apikey.Generate("mlr")
	if err != nil {
		t.Fatal(err)
	}
	for name, secret := range map[string]string{
		"empty":                    "",
		"prefix alone":             "mlr_",
		"one character short":      good[:len(good)-1],
		"one character long":       good + "0",
		"without the underscore":   strings.Replace(good, "_", "", 1),
		"dash for the underscore":  strings.Replace(good, "_", "-", 1),
		"surrounded by space":      " " + good[:len(good)-1],
		"prefix in capitals":       strings.ToUpper(good[:3]) + good[3:],
		"checksum of other digits": good[:len(good)-6] + "zzzzzz", // above the largest CRC-32
		"not ASCII":                good[:len(good)-2] + "é",
	} {
		if apikey.WellFormed("mlr", []byte(secret)) {
			t.Errorf("%s: WellFormed(%q) = true", name, secret)
		}
	}
}

// TestCharactersAreEquallyLikely would fail for bytes taken modulo 62, where the
// first 8 characters come up a quarter more often than the others.
func TestCharactersAreEquallyLikely(t *testing.T) {
	t.Parallel()
	const secrets = 10_000
	counts := map[byte]int{}
	for range secrets {
		s, err := apikey.Generate("m")
		if err != nil {
			t.Fatal(err)
		}
		for i := range apikey.RandomLen {
			counts[s[2+i]]++
		}
	}
	const want = float64(secrets*apikey.RandomLen) / 62 // about 6774, standard deviation 82
	for c, n := range counts {
		if f := float64(n); f < 0.93*want || f > 1.07*want { // nearly six deviations
			t.Errorf("%q came up %d times, want about %.0f", c, n, want)
		}
	}
	if len(counts) != 62 {
		t.Errorf("%d characters came up, want 62", len(counts))
	}
}

func TestPrefixHasItsLimits(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]bool{
		"m": true, "mlr": true, "m2": true, strings.Repeat("a", 16): true,
		"": false, strings.Repeat("a", 17): false, "2m": false, "Mlr": false, "m_r": false, "m r": false, "mé": false,
	} {
		if got := apikey.ValidPrefix(prefix); got != want {
			t.Errorf("ValidPrefix(%q) = %t, want %t", prefix, got, want)
		}
		if _, err := apikey.Generate(prefix); (err == nil) != want {
			t.Errorf("Generate(%q): error %v, want success %t", prefix, err, want)
		}
	}
}

func TestStartShowsPrefixAndSixCharacters(t *testing.T) {
	t.Parallel()
	secret, err := apikey.Generate("mlr")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := apikey.Start(secret), secret[:len("mlr_")+6]; got != want {
		t.Errorf("Start() = %q, want %q", got, want)
	}
}

//nolint:paralleltest // counts allocations
func TestWellFormedAllocatesNothing(t *testing.T) {
	secret, err := apikey.Generate("mlr")
	if err != nil {
		t.Fatal(err)
	}
	b := []byte(secret)
	if n := testing.AllocsPerRun(100, func() { apikey.WellFormed("mlr", b); apikey.HashOf(b) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func FuzzWellFormed(f *testing.F) {
	secret, err := apikey.Generate("mlr")
	if err != nil {
		f.Fatal(err)
	}
	f.Add("mlr", []byte(secret))
	f.Add("mlr", []byte("mlr_"))
	f.Add("", []byte("_"))
	f.Fuzz(func(t *testing.T, prefix string, b []byte) {
		if !apikey.WellFormed(prefix, b) {
			return
		}
		body, ok := strings.CutPrefix(string(b), prefix+"_")
		if !ok || len(body) != apikey.BodyLen {
			t.Errorf("WellFormed(%q, %q) = true", prefix, b)
		}
		if strings.Trim(body, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "" {
			t.Errorf("WellFormed(%q, %q) = true with characters outside base62", prefix, b)
		}
	})
}

func BenchmarkWellFormed(b *testing.B) {
	secret, err := apikey.Generate("mlr")
	if err != nil {
		b.Fatal(err)
	}
	s := []byte(secret)
	b.ReportAllocs()
	for b.Loop() {
		apikey.WellFormed("mlr", s)
	}
}
