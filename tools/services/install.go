package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/millrace/millrace/internal/testkit/runfolder"
)

// tool is a program that a server needs and the Debian package that brings it.
type tool struct {
	binary, pkg string
	// always installs the package without looking for the program, for servers
	// whose programs are not in PATH.
	always bool
}

// noStartFile keeps a package's own service from being started while it is
// installed; Debian asks this program before it starts one.
const noStartFile = "/usr/sbin/policy-rc.d"

// install brings the packages of the tools that are missing.
func install(ctx context.Context, tools ...tool) error {
	var missing []string
	for _, t := range tools {
		if _, err := exec.LookPath(t.binary); err != nil || t.always {
			missing = append(missing, t.pkg)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	names := strings.Join(missing, " ")
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("install these first (Debian's package names): %s", names)
	}
	unlock, err := runfolder.Lock(filepath.Join(os.TempDir(), "millrace-apt.lock"), true)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(noStartFile); err != nil {

		if err := os.WriteFile(noStartFile, []byte("#!/bin/sh\nexit 101\n"), 0o755); err != nil {
			return err
		}
		defer os.Remove(noStartFile)
	}
	for _, args := range [][]string{
		{"update", "-qq"},
		append([]string{"install", "-y", "-qq", "--no-install-recommends"}, missing...),
	} {
		cmd := exec.CommandContext(ctx, apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("installing %s with apt-get: %w: %s", names, err, tail(out))
		}
	}
	return nil
}

// tail returns the end of a program's output, enough to say why it failed.
func tail(out []byte) string {
	const most = 2000
	if len(out) > most {
		out = out[len(out)-most:]
	}
	return strings.TrimSpace(string(out))
}
