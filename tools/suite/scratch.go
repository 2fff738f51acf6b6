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

// openScratch makes the folder of all files that tests write: in memory where there is room,
// because half the work of a ClickHouse with small tables is making files and waiting for a disk.
// The kernel keeps the files of a killed process either way, so tests of kills prove the same. The
// caller removes the folder; the next run removes the one of a killed run.
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

// runsPrograms reports whether a program in the folder may run. A mount can forbid it.
func runsPrograms(dir string) bool {
	program := filepath.Join(dir, "true")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		return false
	}
	defer os.Remove(program)
	return exec.Command(program).Run() == nil
}
