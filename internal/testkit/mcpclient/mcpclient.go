// Package mcpclient runs clients of the Model Context Protocol that others wrote, and the
// protocol's conformance suite. They come from npm, and so does the Node.js that they need.
package mcpclient

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tools/npm"
)

//go:embed package.json package-lock.json
var pins embed.FS

const (
	// leastNode is the oldest major version of Node.js that runs the packages.
	leastNode = 22
	// timeout bounds one run of a program.
	timeout = 3 * time.Minute
)

// The programs, by their paths below node_modules.
const (
	Inspector   = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
	conformance = "@modelcontextprotocol/conformance/dist/index.js"
)

// Revisions are those that the conformance suite has requirements for.
var Revisions = []string{"2026-07-28", "2025-11-25"}

// Conform checks a server against the requirements of a revision. expected is a file that lists
// the scenarios and checks that must fail; empty for none.
func Conform(t *testing.T, url, revision, expected string) {
	t.Helper()
	args := []string{"server", "--url", url, "--requirements", revision}
	if expected != "" {
		file, err := filepath.Abs(expected)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, "--expected-failures", file)
	}
	out, err := Run(t, conformance, args...)
	if err != nil {
		t.Errorf("the requirements of %s: %v\n%s", revision, err, out)
	}
	_, summary, _ := strings.Cut(out, "=== SUMMARY ===")
	t.Log(summary)
}

// Run runs a program of npm, or a script of the test, and returns its standard output. The
// script may import the packages of package.json.
func Run(t *testing.T, program string, args ...string) (out string, err error) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs packages of npm, which -short does without")
	}
	modules, err := install()
	if err != nil {
		t.Fatal(err)
	}
	node, err := findNode(t.Context(), modules)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // Node.js searches it for packages
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(modules, program)
	if text, err := os.ReadFile(program); err == nil {
		path = filepath.Join(dir, filepath.Base(program))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, append([]string{path}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(cmd.Environ(), "HOME="+dir), testkit.NewLog(t, filepath.Base(program))
	printed, err := cmd.Output()
	return string(printed), err
}

// install returns the node_modules of package.json.
var install = sync.OnceValues(func() (string, error) {
	dir, err := npm.Install(context.Background(), "mcpclient", pins)
	return filepath.Join(dir, "node_modules"), err
})

// findNode returns the Node.js of npm. Where npm has none for the platform, it returns the
// machine's, if that is new enough.
func findNode(ctx context.Context, modules string) (string, error) {
	found, err := filepath.Glob(filepath.Join(modules, "node-*-*", "bin", "node"))
	if err != nil || len(found) > 0 {
		return strings.Join(found, ""), err // npm installs only that of the platform
	}
	var major int
	version, _ := exec.CommandContext(ctx, "node", "--version").Output() // empty without a Node.js
	if _, err := fmt.Sscanf(string(version), "v%d.", &major); err != nil || major < leastNode {
		return "", fmt.Errorf("install Node.js %d or newer: npm has none for %s/%s, and node --version prints %q",
			leastNode, runtime.GOOS, runtime.GOARCH, version)
	}
	return "node", nil
}
