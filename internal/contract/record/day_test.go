package record

import "testing"

func TestADayEndsAtMidnightUTC(t *testing.T) {
	t.Parallel()
	for millis, want := range map[int64]int32{0: 0, MillisPerDay - 1: 0, MillisPerDay: 1, 1_795_000_000_000: 20_775} {
		if got := Day(millis); got != want {
			t.Errorf("Day(%d) = %d, want %d", millis, got, want)
		}
	}
}
