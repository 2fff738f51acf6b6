package e2e

import (
	"testing"

	"github.com/millrace/millrace/tests/harness"
)

// Four tests at a time: they wait for programs and servers to start and to end.
func TestMain(m *testing.M) { harness.MainBeside(m, 4) }

var modes = []harness.Mode{harness.Standalone, harness.Split}

// inBothModes runs a body against a system of each mode, beside other tests: they
// wait for programs to start more than they work.
func inBothModes(t *testing.T, body func(t *testing.T, s *harness.System)) {
	t.Helper()
	leaveOutWhenShort(t)
	t.Parallel()
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			body(t, harness.New(t, mode, harness.Options{}))
		})
	}
}

// inBothModesInTime is inBothModes for what holds within a promised time.
func inBothModesInTime(t *testing.T, body func(t *testing.T, s *harness.System)) {
	t.Helper()
	leaveOutWhenShort(t)
	harness.Beside(t)
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			harness.Beside(t)
			body(t, harness.New(t, mode, harness.Options{}))
		})
	}
}

func leaveOutWhenShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out under -short: runs programs against real servers")
	}
}
