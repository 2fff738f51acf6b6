package enrich

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// TestWhichOfTheListsExamplesAreBots walks every example of the list and says
// what becomes of it. A refreshed list shows in the golden file whom it makes a
// bot, and whom it does not.
func TestWhichOfTheListsExamplesAreBots(t *testing.T) {
	t.Parallel()
	examples, err := os.ReadFile(filepath.Join("testdata", "instances.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(examples)) {
		agent := strings.TrimSuffix(line, "\n")
		a := parseAgent(agent)
		kind, name := a.BotKind, a.Bot
		if kind == "" {
			kind, name = "client", a.Browser
		}
		got.WriteString(strings.Join([]string{kind, name, agent}, "\t") + "\n")
	}
	golden := filepath.Join("testdata", "instances.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", golden, diff)
	}
}
