package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// buildTime bounds the building of the command and its responses.
const buildTime = 5 * time.Minute

// subcommand finds the names below "Available Commands:" in a help text. Behind the longest stands one space.
var subcommand = regexp.MustCompile(`(?m)^  ([a-z][a-z-]*) +\S`)

// commandsPage asks the built command itself, so that the page is what a user
// reads on the terminal.
func commandsPage(root string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildTime)
	defer cancel()
	dir, err := os.MkdirTemp("", "docgen")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a folder of the system's
	binary := filepath.Join(dir, "millrace")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/millrace")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building millrace: %w: %s", err, out)
	}
	d := newDocument("The millrace command", "the `--help` of `cmd/millrace`")
	d.paragraph("Every setting of [config.md](config.md) is a flag of every command.")
	err = helpOf(ctx, d, binary, nil)
	return d.String(), err
}

// helpOf writes the help of a command and of all below it.
func helpOf(ctx context.Context, d *document, binary string, path []string) error {
	cmd := exec.CommandContext(ctx, binary, append(slices.Clone(path), "--help")...)
	cmd.Env = []string{} // nothing of this machine
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("asking for the help of %q: %w", path, err)
	}
	d.heading(strings.Join(append([]string{"millrace"}, path...), " "))
	d.paragraph("```text\n" + strings.TrimRight(string(out), "\n") + "\n```")
	for _, name := range subcommands(string(out)) {
		if err := helpOf(ctx, d, binary, append(slices.Clone(path), name)); err != nil {
			return err
		}
	}
	return nil
}

func subcommands(help string) []string {
	_, list, found := strings.Cut(help, "Available Commands:\n")
	if !found {
		return nil
	}
	list, _, _ = strings.Cut(list, "\n\n")
	var names []string
	for _, m := range subcommand.FindAllStringSubmatch(list, -1) {
		if m[1] != "help" && m[1] != "completion" {
			names = append(names, m[1])
		}
	}
	return names
}
