package ledger

import (
	"testing"
	"time"
)

func TestTheTokenHorizonIsTheSmallerOfCountAndTime(t *testing.T) {
	t.Parallel()
	const forEver = time.Duration(1<<63 - 1)
	for _, tc := range []struct {
		memory InsertTokenMemory
		rate   float64
		want   time.Duration
	}{
		{InsertTokenMemory{Inserts: 300_000}, 50, 6000 * time.Second},
		{InsertTokenMemory{Inserts: 300_000, For: time.Hour}, 50, time.Hour},
		{InsertTokenMemory{Inserts: 300_000, For: 2 * time.Hour}, 50, 6000 * time.Second},
		{InsertTokenMemory{Inserts: 300_000, For: 24 * time.Hour}, 0, 24 * time.Hour},
		{InsertTokenMemory{Inserts: 300_000}, 0, forEver},
		{InsertTokenMemory{Inserts: 300_000}, 1e-9, forEver}, // longer than a Duration
	} {
		if got := tc.memory.Horizon(tc.rate); got != tc.want {
			t.Errorf("%+v.Horizon(%g) = %s, want %s", tc.memory, tc.rate, got, tc.want)
		}
	}
}
