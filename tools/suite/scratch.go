package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/millrace/millrace/internal/testkit/runfolder"
)

// memoryFolder is where Linux keeps files in memory.
const memoryFolder = "/dev/shm"

// leastScratch is how much the largest packages need at the same time, several times.
const leastScratch = 8 << 30

// openScratch makes the folder of all that the tests write: in memory where there is
// enough of it, because half of what a ClickHouse of small tests does is making files and
// waiting for a disk to have them. What is proved of a kill does not depend on it: the
// kernel keeps what a killed process wrote either way. The caller removes it; a run that
// is killed leaves it to the next one.
func openScratch() (*runfolder.Folder, error) {
	const prefix = "millrace-tests-"
	if runtime.GOOS == "linux" && free(memoryFolder) >= leastScratch {
		if f, err := runfolder.New(memoryFolder, prefix); err == nil {
			if runsPrograms(f.Path) {
				return f, nil
			}
			f.Remove()
		}
	}
	return runfolder.New(os.TempDir(), prefix)
}

// free returns how many bytes may still be written to a folder.
func free(dir string) int64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0
	}
	return int64(s.Bavail) * int64(s.Bsize) //nolint:unconvert // of another type on other systems
}

// runsPrograms reports whether a program in the folder may be run, which a mount can
// forbid.
func runsPrograms(dir string) bool {
	program := filepath.Join(dir, "true")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		return false
	}
	defer os.Remove(program)
	return exec.Command(program).Run() == nil
}
