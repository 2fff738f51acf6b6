package enrich

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
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

// peoples are texts of agents with which people look at pages: of a view in an
// Android app, of an app's own browser, and of desktop apps.
var peoples = []string{"; wv)", "Instagram", "Electron/"}

// notPeople are the bots of the list whose agents contain one of peoples, and why.
var notPeople = map[string]string{
	"Pingdom": "checks pages with a browser made with Electron, and says so at its end",
}

// A text of the list that apps' agents contain loses the events of people.
func TestNoAgentOfAnAppIsABotUnlessItIsKnownAsOne(t *testing.T) {
	t.Parallel()
	rows, err := os.ReadFile(filepath.Join("testdata", "instances.golden"))
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(string(rows)) {
		f := strings.SplitN(strings.TrimSuffix(row, "\n"), "\t", 3)
		kind, name, agent := f[0], f[1], f[2]
		if kind != "client" && notPeople[name] == "" && containsAny(agent, peoples) {
			t.Errorf("%q is %s, a %s: say in tools/enrichdata that it fits people, or here why it does not", agent, name, kind)
		}
	}
}

func containsAny(agent string, texts []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(agent, text) })
}
