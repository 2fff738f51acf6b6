package chserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/adapter/embedded/filelock"
)

const (
	lockFile  = "lock"
	pidFile   = "pid"
	lockEvery = 50 * time.Millisecond
	// lockSilence is how long a wait passes without a word.
	lockSilence = 500 * time.Millisecond
)

// lockFolder takes the folder's lock, waiting for a server that is about to end.
// The lock belongs to every process that holds the returned file open.
func lockFolder(ctx context.Context, dir string, within time.Duration, notify func(string)) (*os.File, error) {
	began, told := time.Now(), false
	for {
		f, err := filelock.Lock(filepath.Join(dir, lockFile))
		if !errors.Is(err, filelock.ErrLocked) {
			return f, err
		}
		waited := time.Since(began)
		if waited > within {
			return nil, fmt.Errorf("%s is in use by another embedded ClickHouse (process %s); stop the millrace that started "+
				"it or set MILLRACE_DATA_DIR to another folder", dir, holder(dir))
		}
		if waited > lockSilence && !told {
			told = true
			notify("waiting for the previous ClickHouse to stop")
		}
		select {
		case <-ctx.Done():
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
