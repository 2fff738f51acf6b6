package e2e

import (
	"testing"

	"github.com/millrace/millrace/tests/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// inBothModes runs a body against a system of each mode.
func inBothModes(t *testing.T, body func(t *testing.T, s *harness.System)) {
	t.Helper()
	leaveOutWhenShort(t)
	for _, mode := range []harness.Mode{harness.Standalone, harness.Split} {
		t.Run(string(mode), func(t *testing.T) { body(t, harness.New(t, mode, harness.Options{})) })
	}
}

func leaveOutWhenShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out under -short: runs programs against real servers")
	}
}
