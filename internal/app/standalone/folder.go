package standalone

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/millrace/millrace/internal/adapter/embedded/filelock"
)

// The names in the data folder.
const (
	lockFile      = "lock"
	pidFile       = "pid"
	devEnvFile    = "dev.env"
	storeFile     = "millrace.db"
	kafkaDir      = "kafka"
	clickHouseDir = "clickhouse"
)

// folder is the data folder, held by this process alone.
type folder struct {
	dir  string // absolute
	lock *os.File
}

// openFolder makes the data folder, makes sure that it can be written, and takes
// it for this process.
func openFolder(dir string) (*folder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, unusable(dir, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, unusable(dir, err)
	}
	f := &folder{dir: abs}
	f.lock, err = filelock.Lock(f.path(lockFile))
	if errors.Is(err, filelock.ErrLocked) {
		return nil, fmt.Errorf(
			"another millrace (process %s) runs on the data folder %s; stop that process or set MILLRACE_DATA_DIR to another "+
				"folder",
			f.holder(), dir)
	}
	if err != nil {
		return nil, unusable(dir, err)
	}
	if err := os.WriteFile(f.path(pidFile), fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600); err != nil {
		return nil, errors.Join(unusable(dir, err), f.Close())
	}
	return f, nil
}

// unusable names the cause without the library's repetition of the path.
func unusable(dir string, err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		err = p.Err
	}
	return fmt.Errorf("the data folder %s cannot be written (%w); set MILLRACE_DATA_DIR to another", dir, err)
}

// Close gives the folder back.
func (f *folder) Close() error { return f.lock.Close() }

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

// holder is the process that took the folder last.
func (f *folder) holder() string {
	data, err := os.ReadFile(f.path(pidFile))
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(data))
}
