package archtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheLogSaysWhatRunbooksQuoteOfIt(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	runbooks := map[string]string{}
	err := Texts(root, func(name, text string) {
		switch {
		case strings.HasPrefix(name, "docs/runbooks/"):
			runbooks[name] = text
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			source.WriteString(inOneLine(text))
		}
	})
	if err != nil || len(runbooks) < 5 {
		t.Fatalf("%d runbooks, %v", len(runbooks), err)
	}
	for name, text := range runbooks {
		for _, violation := range CheckLogs(source.String(), name, text) {
			t.Error(violation)
		}
	}
}

func TestAMessageThatNothingWritesIsFound(t *testing.T) {
	t.Parallel()
	const runbook = "The log says\n\"the moon is away\", or the logs of the sink have \"requests wait too long\". " +
		"\"Not that\", it said."
	want := []string{`r.md quotes "the moon is away" of the log, which nothing writes`}
	if diff := cmp.Diff(want,
		CheckLogs(`Warn("requests wait too long, new ones are rejected")`, "r.md", runbook)); diff != "" {
		t.Errorf("quotes (-want +got):\n%s", diff)
	}
	long := inOneLine("Warn(\"the moon \" +\n\t\t\"is away\")")
	if got := CheckLogs(long, "r.md", "The log says \"the moon is away\"."); got != nil {
		t.Errorf("a message over two lines: %q", got)
	}
}
