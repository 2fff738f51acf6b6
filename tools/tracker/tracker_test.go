package main

import (
	"path/filepath"
	"testing"

	"github.com/millrace/millrace/web/tracker"
)

const root = "../.."

func TestTheCommittedFilesAreWhatTheSourcesBuild(t *testing.T) {
	t.Parallel()
	leaveOutWhenShort(t)
	if err := build(root, true); err != nil {
		t.Error(err)
	}
}

func TestTheSourcesPassTheirChecksAndTests(t *testing.T) {
	t.Parallel()
	leaveOutWhenShort(t)
	w, err := openWorkshop(root)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for name, err := range map[string]error{
		"types":  w.tool("typescript/bin/tsc", "--noEmit"),
		"linter": w.tool("eslint/bin/eslint.js", "."),
		"tests":  w.run("node", "test/run.mjs"),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAReleaseIsRejectedUntilItsFilesAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := copyTo(filepath.Join(dir, "kept"), filepath.Join(root, home, "kept")); err != nil {
		t.Fatal(err)
	}
	fresh := []*tracker.File{{Hashed: "tracker.0123456789abcdef.js", Content: []byte("fresh")}}
	if err := checkKept(dir, fresh); err == nil {
		t.Error("a release passes without its files")
	}
	if err := keepFiles(dir, fresh); err != nil {
		t.Fatal(err)
	}
	if err := checkKept(dir, fresh); err != nil {
		t.Error(err)
	}
}

func leaveOutWhenShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out under -short: needs packages of npm")
	}
}
