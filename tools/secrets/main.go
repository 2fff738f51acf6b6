// Command secrets fails when a file of the repository holds something that looks
// like a secret. gitleaks looks, by the rules of .gitleaks.toml; the Go command
// builds it once, at the version that stands here.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

// gitleaks is the program that looks.
const gitleaks = "github.com/zricethezav/gitleaks/v8@v8.30.1"

// rules is the file that says what it looks for, and where it does not.
const rules = ".gitleaks.toml"

// finding is one thing that looks like a secret; the secret itself is left out.
type finding struct {
	RuleID      string `json:"RuleID"`
	Description string `json:"Description"`
	File        string `json:"File"`
	StartLine   int    `json:"StartLine"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	found, err := scan(ctx, ".", ".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "secrets:", err)
		os.Exit(1) //nolint:gocritic // the signal handler ends with the process
	}
	for _, f := range found {
		fmt.Fprintf(os.Stderr, "%s:%d: %s (%s)\n", f.File, f.StartLine, f.Description, f.RuleID)
	}
	if len(found) > 0 {
		fmt.Fprintln(os.Stderr, "secrets: if one of these is real, it is everybody's now: revoke it first, then take it "+
			"out; what is none goes into "+rules)
		os.Exit(1)
	}
}

// scan looks through a folder by the rules of the repository at root. The names of
// files are below the folder.
func scan(ctx context.Context, root, dir string) ([]finding, error) {
	config, err := filepath.Abs(filepath.Join(root, rules))
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "millrace-secrets-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	report := filepath.Join(temp, "report.json")
	cmd := exec.CommandContext(ctx, "go", "run", gitleaks, "dir", ".", "--config", config,
		"--no-banner", "--redact", "--exit-code", "0", "--log-level", "error", "--report-format", "json",
		"--report-path", report)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("running gitleaks: %w\n%s", err, out)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		return nil, fmt.Errorf("gitleaks left no report: %w", err)
	}
	var found []finding
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, fmt.Errorf("reading the report of gitleaks: %w", err)
	}
	return found, nil
}
