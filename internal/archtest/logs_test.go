package archtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckLogs_PassesRunbooks(t *testing.T) {
	t.Parallel()
	packages, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	source, err := Source(root, packages)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := Documents(root)
	if err != nil {
		t.Fatal(err)
	}
	runbooks := 0
	for name, text := range docs {
		if !strings.HasPrefix(name, "docs/runbooks/") {
			continue
		}
		runbooks++
		for _, violation := range CheckLogs(source, name, text) {
			t.Error(violation)
		}
	}
	if runbooks < 5 {
		t.Errorf("only %d runbooks were found", runbooks)
	}
}

func TestCheckLogs_FindsMessagesNotInCode(t *testing.T) {
	t.Parallel()
	const runbook = "The log says\n\"the moon is away\", or the logs of the sink have \"requests wait too long\". " +
		"\"Not that\", it said."
	want := []string{`r.md quotes "the moon is away" of the log, which nothing writes`}
	if diff := cmp.Diff(want,
		CheckLogs(`Warn("requests wait too long, rejecting new ones")`, "r.md", runbook)); diff != "" {
		t.Errorf("quotes (-want +got):\n%s", diff)
	}
	long := inOneLine("Warn(\"the moon \" +\n\t\t\"is away\")")
	if got := CheckLogs(long, "r.md", "The log says \"the moon is away\"."); got != nil {
		t.Errorf("a message over two lines: %q", got)
	}
}
