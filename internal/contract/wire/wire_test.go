package wire_test

import (
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/wire"
)

func TestATimeIsWrittenInUTCWithMilliseconds(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 25, 1, 2, 3, 45_678_901, time.FixedZone("", 2*3600))
	const want = "2026-11-24T23:02:03.045Z"
	if got := wire.Time(at); got == nil || *got != want {
		t.Errorf("Time() = %v, want %s", got, want)
	}
	if got := string(wire.AppendMillis([]byte("at "), at.UnixMilli())); got != "at "+want {
		t.Errorf("AppendMillis() = %q, want it to end with %s", got, want)
	}
	if got := wire.Time(time.Time{}); got != nil {
		t.Errorf("Time() of no time = %q, want nil", *got)
	}
}

func TestZeroIsNull(t *testing.T) {
	t.Parallel()
	if got := wire.OrNull(""); got != nil {
		t.Errorf("OrNull() of an empty text = %q, want nil", *got)
	}
	if got := wire.OrNull(7); got == nil || *got != 7 {
		t.Errorf("OrNull(7) = %v", got)
	}
}
