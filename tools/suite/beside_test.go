package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestACommandBesideTheTestsIsToldAndJudged(t *testing.T) {
	t.Parallel()
	own, err := exec.CommandContext(t.Context(), giveWay[0], append(slices.Clone(giveWay[1:]), "nice")...).Output() // whoever runs the tests may be nice too
	if err != nil {
		t.Fatal(err)
	}
	for command, red := range map[string]bool{"echo said; nice": false, "echo said >&2; exit 3": true} {
		var out bytes.Buffer
		found, err := runCommand(t.Context(), t.TempDir(), command, &out)
		if err != nil || found.red != red || !strings.Contains(out.String(), "said\n") || (!red && !strings.HasSuffix(out.String(), "said\n"+string(own))) {
			t.Errorf("%s: %v, %+v, %q", command, err, found, out.String())
		}
		out.Reset()
		err = conclude([]outcome{{stage: "a stage"}, found}, t.TempDir(), &out)
		if (err != nil) != red || (out.String() != "") != red || !strings.HasPrefix(out.String(), map[bool]string{true: "FAIL\t" + command}[red]) {
			t.Errorf("%s: conclude() = %v, %q", command, err, out.String())
		}
	}
}

func TestACommandBesideTheTestsEndsWithThem(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if found, err := runCommand(ctx, t.TempDir(), "sleep 600 & wait", io.Discard); err != nil || !found.red || time.Since(began) > time.Minute {
		t.Errorf("%+v, %v after %s", found, err, time.Since(began))
	}
}

// What runs beside prints nothing into what the tests print, and is judged with them.
func TestWhatRunsBesideIsToldWhenItHasEnded(t *testing.T) {
	t.Parallel()
	failed := errors.New("no stage")
	var out bytes.Buffer
	b := startBeside(t.Context(), func(_ context.Context, own io.Writer) ([]outcome, error) {
		_, _ = own.Write([]byte("theirs\n"))
		return []outcome{{stage: "a stage", red: true}}, failed
	})
	<-b.done
	if out.Len() > 0 {
		t.Errorf("told before it was asked for: %q", out.String())
	}
	found, err := b.wait(&out)
	if len(found) != 1 || !found[0].red || !errors.Is(err, failed) || out.String() != "theirs\n" {
		t.Errorf("found %+v, %v, told %q", found, err, out.String())
	}
}
