package harness

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/programs"
)

// Release is a version of the programs.
type Release struct{ dir string }

// Current returns this tree's, which all tests share.
func Current(tb testing.TB) *Release {
	tb.Helper()
	return &Release{filepath.Dir(Binary(tb, "millrace"))}
}

// Built returns those of this tree with some of its files replaced or added: their
// texts, by their paths from the root of the module. They end with the test.
func Built(tb testing.TB, files map[string]string) *Release {
	tb.Helper()
	root, dir := testkit.Root(tb), tb.TempDir()
	replaced := map[string]string{}
	for name, text := range files {
		file := filepath.Join(dir, "files", filepath.FromSlash(name))
		replaced[filepath.Join(root, filepath.FromSlash(name))] = file
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		tb.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		tb.Fatal(err)
	}
	r := &Release{filepath.Join(dir, "bin")}
	if err := programs.Into(tb.Context(), root, r.dir, Raced, "-overlay", overlay); err != nil {
		tb.Fatal(err)
	}
	return r
}

// runTimeout bounds a program that may have to wait for what the test does meanwhile.
const runTimeout = 5 * time.Minute

// Run runs a program of the release with the settings of a Split system until it
// ends by itself, and returns what it said.
func (r *Release) Run(tb testing.TB, s *System, program string, args ...string) (said string, err error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), runTimeout)
	defer cancel()
	p := newProcess(tb, filepath.Join(r.dir, program), args, s.settings)
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Process describes a program of the release with the settings of a system, and starts
// nothing.
func (r *Release) Process(tb testing.TB, s *System, program string) *Process {
	tb.Helper()
	return newProcess(tb, filepath.Join(r.dir, program), nil, s.settings)
}

// Beside starts the release's daemons beside those of a Split system: with the same
// servers and settings, on ports of their own.
func (r *Release) Beside(tb testing.TB, s *System) *System {
	tb.Helper()
	other := *s
	ingest, query := testkit.FreeAddr(tb), testkit.FreeAddr(tb)
	other.IngestURL, other.QueryURL = "http://"+ingest, "http://"+query
	other.settings = merge(maps.Clone(s.settings), map[string]string{"INGEST_LISTEN": ingest, "QUERY_LISTEN": query})
	other.processes = map[Role]*Process{}
	r.launch(tb, &other)
	return &other
}

// launch starts a system's daemons and returns when all are ready.
func (r *Release) launch(tb testing.TB, s *System) {
	tb.Helper()
	for _, role := range []Role{Edge, Sink, Query} {
		s.processes[role] = r.Process(tb, s, string(role))
	}
	StartAll(tb, s.Processes()...)
}
