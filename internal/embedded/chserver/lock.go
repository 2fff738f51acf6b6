package chserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	lockFile  = "lock"
	pidFile   = "pid"
	lockEvery = 50 * time.Millisecond
	// lockSilence is how long a wait passes without a word.
	lockSilence = 500 * time.Millisecond
)

var errLocked = errors.New("locked")

// lockFolder takes the folder's lock, waiting for a server that is about to end.
// The lock belongs to every process that holds the returned file open.
func lockFolder(ctx context.Context, dir string, within time.Duration, notify func(string)) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the embedded ClickHouse: %w", err)
	}
	began, told := time.Now(), false
	for {
		err := tryLock(f)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, errLocked) {
			f.Close()
			return nil, fmt.Errorf("locking %s: %w", dir, err)
		}
		waited := time.Since(began)
		if waited > within {
			f.Close()
			return nil, fmt.Errorf("%s is in use by another embedded ClickHouse (process %s); stop the millrace that started it or set MILLRACE_DATA_DIR to another folder", dir, holder(dir))
		}
		if waited > lockSilence && !told {
			told = true
			notify("waiting for the previous ClickHouse to stop")
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("waiting for the previous ClickHouse to stop: %w", ctx.Err())
		case <-time.After(lockEvery):
		}
	}
}

// holder names the process that was started last on the folder.
func holder(dir string) string {
	data, err := os.ReadFile(filepath.Join(dir, pidFile))
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(data))
}
