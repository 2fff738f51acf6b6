// Package runfolder makes folders for what a run of a tool writes, and removes those
// that killed runs have left: each has a lock that ends with its process.
package runfolder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Folder is the place of one run's files. While its lock is held it is in use.
type Folder struct {
	Path   string
	unlock func()
}

// New makes a folder in dir, whose name begins with the prefix, and takes its lock, once
// those of killed runs with the same prefix are gone. Other users may enter it, not list
// it. Who sweeps and who makes a folder hold one lock besides: else a folder could be
// swept between its lock being made and being taken.
func New(dir, prefix string) (*Folder, error) {
	done, err := Lock(filepath.Join(dir, fmt.Sprintf("%ssweep-%d.lock", prefix, os.Getuid())), true)
	if err != nil {
		return nil, err
	}
	defer done()
	sweep(dir, prefix)
	path, err := os.MkdirTemp(dir, prefix)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o711); err != nil {
		return nil, err
	}
	unlock, err := Lock(filepath.Join(path, "lock"), false)
	if err != nil {
		return nil, err
	}
	return &Folder{Path: path, unlock: unlock}, nil
}

// Remove removes the folder with all that is in it.
func (f *Folder) Remove() error {
	defer f.unlock()
	return os.RemoveAll(f.Path)
}

func sweep(dir, prefix string) {
	old, err := filepath.Glob(filepath.Join(dir, prefix+"*", "lock"))
	if err != nil {
		return
	}
	for _, name := range old {
		path := filepath.Dir(name)
		if unlock, err := Lock(name, false); err == nil {
			os.RemoveAll(path)
			unlock()
		}
	}
}

// ErrLocked says that somebody else holds a lock.
var ErrLocked = errors.New("locked by another process")

// Lock takes an advisory lock that ends with the process, and returns what
// releases it. Without wait a lock that is held is ErrLocked.
func Lock(path string, wait bool) (unlock func(), err error) {
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
		err = ErrLocked
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
