package config

import (
	"testing"
	"time"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
)

// texts are all settings as variables have them.
func texts() map[string]any {
	all, def := map[string]any{}, Default()
	for i := range table {
		all[table[i].Key] = table[i].Value(&def)
	}
	return all
}

// Every setting from text: by us, and by the library into the struct. Both are asked once, at
// a start; docs/adr/0024-libraries-and-what-is-our-own.md has the figures.
func BenchmarkSettings(b *testing.B) {
	all := texts()
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var s Settings
			for i := range table {
				f := &table[i]
				if _, err := convert(f.of(&s).Type(), all[f.Key]); err != nil {
					b.Fatal(f.Key, err)
				}
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := byLibrary(all); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func byLibrary(values map[string]any) (s Settings, err error) {
	k := koanf.New(".")
	if err := k.Load(confmap.Provider(values, "."), nil); err != nil {
		return s, err
	}
	err = k.Unmarshal("", &s)
	return s, err
}

// What the library makes of what we reject is the reason that we convert settings ourselves.
// Where it has become stricter, that is due again.
func TestTheLibraryConvertsWhatWeReject(t *testing.T) {
	t.Parallel()
	values := map[string]any{
		"ingest.deadline": 5,     // without a unit
		"limits.enabled":  "1",   // neither true nor false
		"key.prefix":      0o123, // text that YAML has read as a number
	}
	for key, raw := range values {
		f, ok := lookupField(key)
		if !ok {
			t.Fatalf("no setting %s", key)
		}
		var s Settings
		if v, err := convert(f.of(&s).Type(), raw); err == nil {
			t.Errorf("%s: %v becomes %v", key, raw, v)
		}
	}
	s, err := byLibrary(values)
	if err != nil || s.Ingest.Deadline != 5*time.Nanosecond || !s.Limits.Enabled || s.Key.Prefix != "83" {
		t.Errorf("the library makes %s, %v and %q of them, %v", s.Ingest.Deadline, s.Limits.Enabled, s.Key.Prefix, err)
	}
}
