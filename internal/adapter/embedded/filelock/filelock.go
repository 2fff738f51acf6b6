// Package filelock keeps two processes off one folder.
//
// It promises that a lock ends with the last process that holds it, however that
// ends, so that no lock is ever left behind. A child that inherits the open file
// holds the lock on.
package filelock

import (
	"errors"
	"fmt"
	"os"
)

// ErrLocked says that another process holds the lock.
var ErrLocked = errors.New("locked by another process")

// Lock takes the lock of a file, which is made when missing, or returns an error
// with ErrLocked in its chain. Closing the file gives the lock back.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return f, nil
}
