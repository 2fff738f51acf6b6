package store_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/store"
)

func TestSQLiteFileMayHaveAnyName(t *testing.T) {
	t.Chdir(t.TempDir())
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for url, file := range map[string]string{
		"sqlite:relative.db":                    "relative.db",
		"sqlite:./dotted.db":                    "dotted.db",
		"sqlite:" + folder + "/absolute.db":     "absolute.db",
		"sqlite://" + folder + "/slashes.db":    "slashes.db",
		"sqlite:odd ?#%41&_pragma=x(1) name.db": "odd ?#%41&_pragma=x(1) name.db",
		"sqlite:日本.db":                          "日本.db",
	} {
		s, err := store.Open(t.Context(), url, store.Options{})
		if err != nil {
			t.Errorf("Open(%q) = %v", url, err)
			continue
		}
		if err := s.Migrate(t.Context()); err != nil {
			t.Errorf("Migrate() of %q = %v", url, err)
		}
		if _, err := os.Stat(filepath.Join(folder, file+"-wal")); err != nil {
			t.Errorf("%q keeps no write-ahead log: %v", url, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close() of %q = %v", url, err)
		}
		info, err := os.Stat(filepath.Join(folder, file))
		if err != nil {
			t.Errorf("%q: %v", url, err)
			continue
		}
		if info.Size() == 0 || info.Mode().Perm() != 0o600 {
			t.Errorf("%q has %d bytes and mode %s, want the database, for its owner only", file, info.Size(), info.Mode())
		}
	}
}

func TestSQLiteFileIsSharedByProcesses(t *testing.T) {
	t.Parallel()
	url := sqliteURL(t)
	var mu sync.Mutex
	salts := map[string]bool{}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcessThatSharesAFile$", "-test.v", "--", url)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("the process: %v\n%s", err, out)
				return
			}
			_, rest, _ := strings.Cut(string(out), "salt=")
			mu.Lock()
			defer mu.Unlock()
			salts[strings.Fields(rest + " none")[0]] = true
		})
	}
	wg.Wait()
	if len(salts) != 1 || salts["none"] {
		t.Errorf("the processes got the salts %v, want one for all", salts)
	}
}

// TestProcessThatSharesAFile is the body of the processes that the test before
// starts; without their argument it does nothing.
func TestProcessThatSharesAFile(t *testing.T) {
	t.Parallel()
	if flag.NArg() == 0 {
		return
	}
	s, err := store.Open(t.Context(), flag.Arg(0), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	salt, err := s.Salt(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("salt=%x", salt)
}
