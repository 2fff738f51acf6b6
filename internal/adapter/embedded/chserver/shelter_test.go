//go:build linux && !nolibrary

package chserver

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/embedded/chlibrary"
)

func TestAVersionWithTheMendNeedsNoShelter(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"26.7": false, "26.8": false, "26.8.1.1774": false, "25.12": false, "26.9": true, "26.9.1": true, "26.10": true,
		"27.1": true, "": false, "new": false,
	} {
		if got := mended(version); got != want {
			t.Errorf("mended(%q) = %v", version, got)
		}
	}
}

// What is free before the start may be taken when the library listens. At a prompt it
// would stay.
func TestAChildThatCannotListenEndsWithTheReason(t *testing.T) {
	t.Parallel()
	library, err := chlibrary.Find(os.Getenv("MILLRACE_EMBEDDED_CLICKHOUSE_LIBRARY"))
	switch {
	case errors.Is(err, chlibrary.ErrMissing) && testing.Short():
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name            string
		web             bool
		withoutTerminal bool
		want            shelter
	}{
		{"native, at a terminal", false, false, terminal},
		{"HTTP, at a terminal", true, false, terminal},
		{"native, behind a relay", false, true, relayed},
		{"HTTP, behind a relay", true, true, relayed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			s := &Server{
				cfg:    Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), withoutTerminal: tc.withoutTerminal},
				engine: engine{library: library}, addr: freeAddr(t), http: freeAddr(t),
			}
			if tc.web {
				s.http = l.Addr().String()
			} else {
				s.addr = l.Addr().String()
			}
			lock, err := os.CreateTemp(s.cfg.Dir, "")
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
			in, of, err := s.takeShelter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if of != tc.want {
				t.Errorf("the shelter is %v, want %v", of, tc.want)
			}
			args, err := s.engine.args(s.cfg.Dir, s.addr, s.http, nil, of)
			if err != nil {
				t.Fatal(err)
			}
			c, err := startChild(s.cfg.Dir, args, in, lock)
			if err != nil {
				t.Fatal(err)
			}
			select {
			case <-c.exited:
			case <-time.After(time.Minute):
				c.stop(stopWait)
				t.Fatalf("it has not ended by itself after a minute; its output is %q", c.output.String())
			}
			if got := strings.ToLower(c.lastWords()); !strings.Contains(got, "address already in use") ||
				!strings.Contains(got, l.Addr().String()) {
				t.Errorf("it says %q, want %s to be in use", got, l.Addr())
			}
		})
	}
}

// freeAddr is an address that nobody listens on.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
