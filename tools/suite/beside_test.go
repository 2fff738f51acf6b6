package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

func TestWhatRunsBesideTheTestsIsToldAndJudged(t *testing.T) {
	t.Parallel()
	for command, red := range map[string]bool{"echo said; nice": false, "echo said >&2; exit 3": true} {
		b, err := startBeside(t.Context(), t.TempDir(), command)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		found, ran := b.wait(&out)
		if !ran || found.red != red || !strings.Contains(out.String(), "said\n") || (!red && !strings.Contains(out.String(), "\n10\n")) {
			t.Errorf("%s: ran %v, %+v, %q", command, ran, found, out.String())
		}
		out.Reset()
		err = conclude([]outcome{{stage: "a stage"}, found}, t.TempDir(), &out)
		if (err != nil) != red || (out.String() != "") != red || !strings.HasPrefix(out.String(), map[bool]string{true: "FAIL\t" + command}[red]) {
			t.Errorf("%s: conclude() = %v, %q", command, err, out.String())
		}
	}
	if b, err := startBeside(t.Context(), t.TempDir(), ""); b != nil || err != nil {
		t.Errorf("no command is %v, %v", b, err)
	}
}

func TestWhatRunsBesideTheTestsEndsWithThem(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	b, err := startBeside(ctx, t.TempDir(), "sleep 600 & wait")
	if err != nil {
		t.Fatal(err)
	}
	if found, _ := b.wait(new(bytes.Buffer)); !found.red || b.took > time.Minute {
		t.Errorf("%+v after %s", found, b.took)
	}
}
