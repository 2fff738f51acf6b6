package filelock_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/millrace/millrace/internal/adapter/embedded/filelock"
)

func TestALockIsHeldOnceUntilItIsClosed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := filelock.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.Lock(path); !errors.Is(err, filelock.ErrLocked) {
		t.Errorf("the second lock's error is %v, want ErrLocked", err)
	}
	first.Close()
	second, err := filelock.Lock(path)
	if err != nil {
		t.Fatalf("after the first was closed: %v", err)
	}
	second.Close()
}
