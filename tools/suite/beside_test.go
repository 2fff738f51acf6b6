package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/runfolder"
)

// concluded returns what the suite prints of outcomes in the end.
func concluded(t *testing.T, all ...outcome) (string, error) {
	t.Helper()
	budget := filepath.Join(t.TempDir(), "budget.txt")
	if err := os.WriteFile(budget, []byte("a stage\t10\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err := (&report{folder: t.TempDir(), all: all}).conclude(&out, budget)
	return out.String(), err
}

func TestSuite_JudgesTheCommandBesideTheTests(t *testing.T) {
	t.Parallel()
	// The tests may run at a lower priority too.
	own, err := exec.CommandContext(t.Context(), giveWay[0], append(slices.Clone(giveWay[1:]), "nice")...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for command, red := range map[string]bool{"echo said; nice": false, "echo said >&2; exit 3": true} {
		var out bytes.Buffer
		found, err := runCommand(t.Context(), t.TempDir(), command, &out)
		if err != nil || found.red != red || !strings.Contains(out.String(), "said\n") ||
			(!red && !strings.HasSuffix(out.String(), "said\n"+string(own))) {
			t.Errorf("%s: %v, %+v, %q", command, err, found, out.String())
		}
		out.Reset()
		said, err := concluded(t, outcome{stage: "a stage"}, found)
		if (err != nil) != red || strings.Contains(said, "FAIL\tchecks") != red {
			t.Errorf("%s: conclude() = %v, %q", command, err, said)
		}
	}
}

// waitingFor returns a gotestsum that waits for a file and runs no tests.
func waitingFor(t *testing.T, file string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "gotestsum")
	text := "#!/bin/sh\nuntil [ -e " + file +
		" ]; do sleep 0.01; done\nuntil [ \"$1\" = --jsonfile ]; do shift; done\n: >\"$2\"\n"
	if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return program
}

func TestSuite_RunsTheCommandBesideTheFirstStage(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // rather than wait for a command that does not begin
	defer cancel()
	begun := filepath.Join(t.TempDir(), "begun")
	env := surroundings{
		root: t.TempDir(), folder: t.TempDir(), gotestsum: waitingFor(t, begun),
		shared: &shared{scratch: &runfolder.Folder{Path: t.TempDir()}},
	}
	all, err := runAll(ctx, []stage{{name: "first"}, {name: "second"}}, "touch "+begun+"; exit 3", env, io.Discard)
	var red []bool
	for _, o := range all {
		red = append(red, o.red)
	}
	if want := []bool{false, false, true}; err != nil || !slices.Equal(red, want) {
		t.Errorf("%+v, %v, want the command alone red", all, err)
	}
}

func TestSuite_EndsTheCommandBesideTheTestsWithThem(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if found, err := runCommand(ctx, t.TempDir(), "sleep 600 & wait", io.Discard); err != nil || !found.red ||
		time.Since(began) > time.Minute {
		t.Errorf("%+v, %v after %s", found, err, time.Since(began))
	}
}

func TestBeside_PrintsAfterItsEnd(t *testing.T) {
	t.Parallel()
	failed := errors.New("no stage")
	var out bytes.Buffer
	b := startBeside(func(own io.Writer) ([]outcome, error) {
		_, _ = own.Write([]byte("theirs\n"))
		return []outcome{{stage: "a stage", red: true}}, failed
	})
	<-b.done
	if out.Len() > 0 {
		t.Errorf("printed before wait: %q", out.String())
	}
	found, err := b.wait(&out)
	if len(found) != 1 || !found[0].red || !errors.Is(err, failed) || out.String() != "theirs\n" {
		t.Errorf("found %+v, %v, printed %q", found, err, out.String())
	}
}
