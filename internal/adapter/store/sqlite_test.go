package store_test

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
)

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
