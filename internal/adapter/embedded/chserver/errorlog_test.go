package chserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const before = "2026.11.23 15:21:27.326422 [ 1 ] {} <Fatal> ClientBase: of another run: Code: 1. DB::Exception: old\n"

func TestALogTellsOfItsOwnRunAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "clickhouse.err.log")
	write := func(text string) {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := errorLogIn(dir).written(); got != "" {
		t.Errorf("without a file it is %q", got)
	}
	write(before)
	log := errorLogIn(dir)
	if got := log.written(); got != "" {
		t.Errorf("before the run wrote anything it is %q", got)
	}
	write("mine\n")
	if got := log.written(); got != "mine\n" {
		t.Errorf("it is %q", got)
	}
	if err := os.Rename(file, file+".0"); err != nil {
		t.Fatal(err)
	}
	write("new\n")
	if got := log.written(); got != "new\n" {
		t.Errorf("in a new file it is %q", got)
	}
	write(strings.Repeat("x", logRead) + "end")
	if got := log.written(); len(got) != logRead || !strings.HasSuffix(got, "xend") {
		t.Errorf("of a long one there are %d bytes", len(got))
	}
}

func TestTheReasonOfAnEndIsFoundInTheLog(t *testing.T) {
	t.Parallel()
	const head = "2026.11.23 15:21:27.326422 [ 9593 ] {} <Fatal> ClientBase: "
	for _, tc := range []struct{ name, log, sentence, lines string }{
		{"nothing", "", "", ""},
		{"an error that ended nothing", strings.ReplaceAll(before, "<Fatal>", "<Error>"), "", ""},
		{
			"an exception",
			head + "(version 26.7.2.1) (from thread 9615) Terminate called for uncaught exception:\n" +
				head + "Code: 81. DB::Exception: Database nowhere does not exist. (UNKNOWN_DATABASE), Stack trace (when copying " +
				"this message, always include the lines below):\n" +
				head + "(version 26.7.2.1) Received signal 6 (internal)\n",
			"Code: 81. DB::Exception: Database nowhere does not exist. (UNKNOWN_DATABASE)",
			"ClientBase: (version 26.7.2.1) (from thread 9615) Terminate called for uncaught exception:\n" +
				"ClientBase: Code: 81. DB::Exception: Database nowhere does not exist. (UNKNOWN_DATABASE), Stack trace (when " +
				"copying this message, always include the lines below):\n" +
				"ClientBase: (version 26.7.2.1) Received signal 6 (internal)",
		},
		{
			"a signal", head + "(version 26.7.2.1) Received signal Segmentation fault (11)\n",
			"(version 26.7.2.1) Received signal Segmentation fault (11)",
			"ClientBase: (version 26.7.2.1) Received signal Segmentation fault (11)",
		},
		{
			"as many lines as are kept", strings.Repeat(head+"x\n", wordsKept), "",
			strings.TrimSuffix(strings.Repeat("ClientBase: x\n", wordsKept), "\n"),
		},
		{
			"one more", strings.Repeat(head+"x\n", wordsKept+1), "",
			strings.TrimSuffix(strings.Repeat("ClientBase: x\n", wordsKept), "\n"),
		},
	} {
		if sentence, lines := epitaph(tc.log); sentence != tc.sentence || lines != tc.lines {
			t.Errorf("%s: %q, %q", tc.name, sentence, lines)
		}
	}
}
