package archtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// DepsFile is the file beside a command's main.go that lists the modules linked
// into it, so that a new one shows in review.
const DepsFile = "deps.txt"

// Commands returns the folders of the commands, such as "cmd/sink", sorted.
func Commands(root string) ([]string, error) {
	mains, err := filepath.Glob(filepath.Join(root, "cmd", "*", "main.go"))
	if err != nil {
		return nil, fmt.Errorf("finding the commands: %w", err)
	}
	for i, m := range mains {
		mains[i] = "cmd/" + filepath.Base(filepath.Dir(m))
	}
	return mains, nil
}

// Modules returns the modules of others that a command links on Linux, one a
// line, sorted.
func Modules(ctx context.Context, root, command string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./"+command)
	cmd.Dir = root
	cmd.Env = append(cmd.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("listing the modules of %s: %w: %s", command, err, stderr.String())
	}
	modules := strings.Fields(string(out))
	modules = slices.DeleteFunc(modules, func(m string) bool { return m == Module })
	slices.Sort(modules)
	return strings.Join(slices.Compact(modules), "\n") + "\n", nil
}

// CheckDeps compares a command's list with what it links.
func CheckDeps(ctx context.Context, root, command string) error {
	want, err := Modules(ctx, root, command)
	if err != nil {
		return err
	}
	path := filepath.Join(root, command, DepsFile)
	got, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the list of modules: %w: run make generate", err)
	}
	return compareLists(command, string(got), want)
}

// compareLists names what the list of a command lacks and what it has too much.
func compareLists(command, got, want string) error {
	has, links := strings.Fields(got), strings.Fields(want)
	var out []string
	for _, m := range links {
		if !slices.Contains(has, m) {
			out = append(out, "now links "+m)
		}
	}
	for _, m := range has {
		if !slices.Contains(links, m) {
			out = append(out, "no longer links "+m)
		}
	}
	if len(out) == 0 && got != want {
		out = append(out, "is not sorted")
	}
	if len(out) > 0 {
		return fmt.Errorf("%s %s; if that is meant, run make generate", command, strings.Join(out, ", "))
	}
	return nil
}
