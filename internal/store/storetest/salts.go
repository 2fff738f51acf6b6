package storetest

import (
	"bytes"
	"encoding/hex"
	"sync"
	"testing"
	"time"
)

var saltTests = map[string]func(*testing.T, *Fixture){
	"a day's salt is the same for all, and another one the next day": func(t *testing.T, f *Fixture) {
		s := f.Store()
		midnight := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		get := func(at time.Time) []byte {
			t.Helper()
			salt, err := s.Salt(t.Context(), at)
			if err != nil || len(salt) != 32 {
				t.Fatalf("Salt() = %x, %v, want 32 bytes", salt, err)
			}
			return salt
		}
		first := get(midnight)
		west := time.FixedZone("", -5*3600) // where it is the day before
		for _, same := range []time.Time{midnight, midnight.Add(24*time.Hour - 1), midnight.In(west)} {
			if !bytes.Equal(get(same), first) {
				t.Errorf("the salt at %s differs", same)
			}
		}
		for _, other := range []time.Time{midnight.Add(-1), midnight.Add(24 * time.Hour)} {
			if bytes.Equal(get(other), first) {
				t.Errorf("the salt at %s is the same", other)
			}
		}
	},
	"many who ask first get one salt": func(t *testing.T, f *Fixture) {
		f.Store()
		var mu sync.Mutex
		got := map[string]int{}
		var wg sync.WaitGroup
		for range 4 {
			s := f.Open()
			for range 4 {
				wg.Go(func() {
					salt, err := s.Salt(t.Context(), Start)
					if err != nil {
						t.Errorf("Salt() = %v", err)
					}
					mu.Lock()
					defer mu.Unlock()
					got[hex.EncodeToString(salt)]++
				})
			}
		}
		wg.Wait()
		if len(got) != 1 {
			t.Errorf("%d salts were handed out, want 1", len(got))
		}
	},
	"a salt is deleted 48 hours after its day began": func(t *testing.T, f *Fixture) {
		s := f.Store()
		midnight := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		f.Clock.Set(midnight)
		first, err := s.Salt(t.Context(), midnight)
		if err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct {
			after time.Duration
			kept  bool
		}{{0, true}, {48*time.Hour - 1, true}, {48 * time.Hour, false}} {
			f.Clock.Set(midnight.Add(tc.after))
			if err := s.PruneSalts(t.Context()); err != nil {
				t.Fatal(err)
			}
			again, err := s.Salt(t.Context(), midnight)
			if err != nil || bytes.Equal(again, first) != tc.kept {
				t.Errorf("after %s: kept %t, %v, want %t", tc.after, bytes.Equal(again, first), err, tc.kept)
			}
		}
	},
	"making a new day's salt deletes old ones": func(t *testing.T, f *Fixture) {
		s := f.Store()
		f.Clock.Set(Start)
		first, err := s.Salt(t.Context(), Start)
		if err != nil {
			t.Fatal(err)
		}
		f.Clock.Set(Start.Add(72 * time.Hour))
		if _, err := s.Salt(t.Context(), f.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		again, err := s.Salt(t.Context(), Start)
		if err != nil || bytes.Equal(again, first) {
			t.Errorf("the old salt is there still: %v", err)
		}
	},
}
