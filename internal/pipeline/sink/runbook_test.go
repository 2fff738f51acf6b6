package sink

import (
	"os"
	"strings"
	"testing"
)

func TestEachReasonToStandStillHasItsRunbook(t *testing.T) {
	t.Parallel()
	runbook, err := os.ReadFile("../../../docs/runbooks/sink.md")
	if err != nil {
		t.Fatal(err)
	}
	exact, err := os.ReadFile("../../../docs/architecture/exactly-once.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range []HaltReason{
		HaltRetention, HaltTruncated, HaltOffset, HaltTopic, HaltMetadata, HaltDeadLetters, HaltPanic, HaltBatch,
	} {
		if heading := "\n## Halted: " + string(reason) + "\n"; !strings.Contains(string(runbook), heading) {
			t.Errorf("docs/runbooks/sink.md has no heading %q", strings.TrimSpace(heading))
		}
		if row := "\n| `" + string(reason) + "` |"; !strings.Contains(string(exact), row) {
			t.Errorf("docs/architecture/exactly-once.md has no row %q", strings.TrimSpace(row))
		}
	}
}
