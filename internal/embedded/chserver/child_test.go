package chserver

import (
	"strings"
	"testing"
)

func TestLastWordsExplainTheEnd(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 301)
	for output, want := range map[string]string{
		"":                             "",
		"Logging errors to /x/y.log\n": "",
		"one\ntwo\n\n":                 "two",
		"Code: 76. DB::Exception: no disk.\nat 0x1\n": "Code: 76. DB::Exception: no disk.",
		long: strings.Repeat("ü", 300) + "…",
	} {
		if got := lastLine(output); got != want {
			t.Errorf("lastLine(%q) = %q, want %q", output, got, want)
		}
	}
}

func TestOnlyTheEndOfALongOutputIsKept(t *testing.T) {
	t.Parallel()
	var kept tail
	for range 100 {
		if n, err := kept.Write([]byte(strings.Repeat("x", 1000))); n != 1000 || err != nil {
			t.Fatalf("Write() = %d, %v", n, err)
		}
	}
	if _, err := kept.Write([]byte("end")); err != nil {
		t.Fatal(err)
	}
	if got := kept.String(); len(got) != outputKept || !strings.HasSuffix(got, "xend") {
		t.Errorf("it keeps %d bytes", len(got))
	}
}
