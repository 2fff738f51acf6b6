package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const folderPrefix = "millrace-services-"

// folder is the place of one run's files. While its lock is held it is in use;
// the folder of a run that was killed is removed by the next.
type folder struct {
	path   string
	unlock func()
}

func newFolder() (*folder, error) {
	sweep()
	path, err := os.MkdirTemp("", folderPrefix)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o711); err != nil {
		return nil, err
	}
	unlock, err := lock(filepath.Join(path, "lock"), false)
	if err != nil {
		return nil, err
	}
	return &folder{path: path, unlock: unlock}, nil
}

func (f *folder) remove() {
	os.RemoveAll(f.path)
	f.unlock()
}

func sweep() {
	old, err := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*"))
	if err != nil {
		return
	}
	for _, path := range old {
		name := filepath.Join(path, "lock")
		if _, err := os.Stat(name); err != nil {
			continue // being made just now
		}
		if unlock, err := lock(name, false); err == nil {
			os.RemoveAll(path)
			unlock()
		}
	}
}

var errLocked = errors.New("locked by another process")

// lock takes an advisory lock that ends with the process, and returns what
// releases it. Without wait a lock that is held is errLocked.
func lock(path string, wait bool) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	err = syscall.Flock(int(f.Fd()), how)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errLocked
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
