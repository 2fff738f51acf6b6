package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/tenant/session"
	"github.com/millrace/millrace/internal/tenant/token"
)

// device has a user know the device with a token, in the place of another.
func (f *Fixture) device(userID, old, next string, now time.Time) {
	f.tb.Helper()
	if err := f.Store().ReplaceDevice(f.tb.Context(), userID, token.HashOf(old), token.HashOf(next), now); err != nil {
		f.tb.Fatal(err)
	}
}

// knows reports whether the account of an address knows the device with a token.
func (f *Fixture) knows(email, text string, since time.Time) bool {
	f.tb.Helper()
	known, err := f.Store().KnowsDevice(f.tb.Context(), token.HashOf(text), email, since)
	if err != nil {
		f.tb.Fatal(err)
	}
	return known
}

// long is before every device.
var long = Start.Add(-time.Hour)

var deviceTests = map[string]func(*testing.T, *Fixture){
	"a device is known to its account, from its time on": func(t *testing.T, f *Fixture) {
		f.User("usr_a", "a@example.com")
		f.User("usr_b", "b@example.com")
		f.device("usr_a", "", "d1", Start)
		f.device("usr_b", "d1", "d2", Start) // of another user, whose it stays
		for _, tc := range []struct {
			email, text string
			since       time.Time
			want        bool
		}{
			{"a@example.com", "d1", Start.Add(-time.Millisecond), true},
			{"a@example.com", "d1", Start, false},
			{"a@example.com", "d2", long, false},
			{"b@example.com", "d2", long, true},
			{"c@example.com", "d1", long, false},
			{"a@example.com", "x", long, false},
		} {
			if got := f.knows(tc.email, tc.text, tc.since); got != tc.want {
				t.Errorf("%s knows %s since %s: %t", tc.email, tc.text, tc.since, got)
			}
		}
		f.device("usr_a", "d1", "d3", Start)
		if f.knows("a@example.com", "d1", long) || !f.knows("a@example.com", "d3", long) {
			t.Error("the old token is known still, or the new one is not")
		}
		err := f.Store().ReplaceDevice(t.Context(), "usr_none", token.HashOf(""), token.HashOf("d4"), Start)
		if err == nil {
			t.Error("nobody knows a device")
		}
	},
	"one device more than an account knows forgets the oldest": func(t *testing.T, f *Fixture) {
		f.User("usr_a", "a@example.com")
		for i := range session.MaxDevices {
			f.device("usr_a", "", fmt.Sprintf("d%d", i), Start.Add(time.Duration(i)*time.Second))
		}
		if !f.knows("a@example.com", "d0", long) {
			t.Error("one of as many as may be is forgotten")
		}
		later := Start.Add(time.Hour)
		f.device("usr_a", "", "one more", later)
		for text, want := range map[string]bool{"d0": false, "d1": true, "one more": true} {
			if got := f.knows("a@example.com", text, long); got != want {
				t.Errorf("%s is known: %t", text, got)
			}
		}
		f.race(4, func(i int, s *store.Store) error {
			next := token.HashOf(fmt.Sprintf("at once %d", i))
			return s.ReplaceDevice(t.Context(), "usr_a", token.HashOf("none"), next, later)
		})
		if n := f.count("devices"); n != session.MaxDevices {
			t.Errorf("%d devices are known, want %d", n, session.MaxDevices)
		}
	},
}
