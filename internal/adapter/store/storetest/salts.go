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
	"the salts of days before one are destroyed, and no others": func(t *testing.T, f *Fixture) {
		s := f.Store()
		midnight := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
		made := map[time.Time][]byte{}
		for days := -2; days <= 1; days++ {
			day := midnight.AddDate(0, 0, days)
			salt, err := s.Salt(t.Context(), day.Add(13*time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			made[day] = salt
		}
		for _, tc := range []struct {
			first time.Time
			kept  int
		}{
			{midnight.AddDate(0, 0, -2), 4},
			{midnight.Add(-time.Millisecond), 3}, // still yesterday
			{midnight.In(time.FixedZone("", -5*3600)), 2},
			{midnight, 2},
		} {
			if err := s.PruneSalts(t.Context(), tc.first); err != nil {
				t.Fatal(err)
			}
			kept, err := s.Salts(t.Context())
			if err != nil || len(kept) != tc.kept {
				t.Errorf("%d salts are left from %s on, %v; want %d", len(kept), tc.first, err, tc.kept)
			}
			for day, salt := range kept {
				if !bytes.Equal(salt, made[day]) {
					t.Errorf("the salt of %s has changed", day)
				}
			}
		}
		if again, err := s.Salt(t.Context(), midnight.Add(-1)); err != nil ||
			bytes.Equal(again, made[midnight.AddDate(0, 0, -1)]) {
			t.Errorf("a destroyed salt came back: %v", err)
		}
	},
}
