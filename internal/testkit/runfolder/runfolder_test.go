package runfolder

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestAFolderIsSweptWhenItsRunIsGoneAndNeverBefore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	killed, err := New(dir, "run-")
	if err != nil {
		t.Fatal(err)
	}
	killed.unlock() // as the kernel does for whoever is killed
	var wg sync.WaitGroup
	made := make([]*Folder, 20)
	for i := range made {
		wg.Go(func() {
			f, err := New(dir, "run-")
			if err != nil {
				t.Error(err)
				return
			}
			made[i] = f
		})
	}
	wg.Wait()
	for _, f := range made {
		if f == nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(f.Path, "lock")); err != nil {
			t.Errorf("a folder in use was swept: %v", err)
		}
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(killed.Path); err == nil {
		t.Error("the folder of a run that is gone is still there")
	}
}
