package dedup

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/internal/contract/record"
)

func hashOf(n int) record.Hash {
	return record.HashOf([]byte("web_1"), []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)})
}

// The set is compared with a map, through growth and low watermarks.
func TestAHashsetIsAMapWithALowWatermark(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s hashset
		want := map[record.Hash]int32{}
		t.Repeat(map[string]func(*rapid.T){
			"raise": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "keys") {
					h := hashOf(rapid.IntRange(0, 300).Draw(t, "key"))
					b := rapid.Int32Range(s.lowWatermark, s.lowWatermark+5).Draw(t, "bucket")
					old, had := s.raise(h, b)
					before, ok := want[h]
					if ok != had || old != before {
						t.Fatalf("raise returned %d, %v; want %d, %v", old, had, before, ok)
					}
					want[h] = max(b, before)
				}
			},
			"raise the floor": func(*rapid.T) {
				s.lowWatermark++
				for h, b := range want {
					if b < s.lowWatermark {
						delete(want, h)
					}
				}
			},
			"": func(t *rapid.T) {
				for n := range 301 {
					got, ok := s.find(hashOf(n))
					if b, had := want[hashOf(n)]; ok != had || got != b {
						t.Fatalf("find(%d) = %d, %v; want %d, %v", n, got, ok, b, had)
					}
				}
			},
		})
	})
}

func TestAHashsetTakes40BytesAKeyAtMost(t *testing.T) {
	t.Parallel()
	var s hashset
	for n := range 100_000 {
		s.raise(hashOf(n), 1)
		if per := float64(s.bytes()) / float64(n+1); n > 1000 && per > 40 {
			t.Fatalf("%.1f bytes a key at %d keys", per, n+1)
		}
	}
}
