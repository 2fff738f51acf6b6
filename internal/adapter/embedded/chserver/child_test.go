package chserver

import (
	"strings"
	"testing"
)

func TestLastWordsExplainTheEnd(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 301)
	for _, tc := range []struct {
		output, want string
		exception    bool
	}{
		{"", "", false},
		{"Logging errors to /x/y.log\n", "", false},
		{"one\ntwo\n\n", "two", false},
		{"Code: 76. DB::Exception: no disk.\nat 0x1\n", "Code: 76. DB::Exception: no disk.", true},
		{"\r\x1b[0J\x1b[?25hone\n\x1b[?2004h\x1b[1G:) \x1b[4Gexit\x1b[0m\x1b[J\x1b[8G\n\x1b[?2004lBye.\n", "Bye.", false},
		{long, strings.Repeat("ü", 300) + "…", false},
	} {
		if got, exception := lastLine(tc.output); got != tc.want || exception != tc.exception {
			t.Errorf("lastLine(%q) = %q, %v, want %q, %v", tc.output, got, exception, tc.want, tc.exception)
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
