package loopback_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/embedded/loopback"
)

func TestResolveTakesLoopbackOnly(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"127.0.0.1:9092":  "127.0.0.1:9092",
		"127.0.0.2:65535": "127.0.0.2:65535",
		"localhost:9092":  "127.0.0.1:9092",
		"[::1]:9092":      "[::1]:9092",
		"0.0.0.0:9092":    "",
		":9092":           "",
		"[::]:9092":       "",
		"10.0.0.1:9092":   "",
		"example.com:1":   "",
		"127.0.0.1:65536": "",
		"127.0.0.1:-1":    "",
		"127.0.0.1:x":     "",
		"127.0.0.1":       "",
		"":                "",
	} {
		got, err := loopback.Resolve(t.Context(), addr, "SETTING")
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Resolve(%q) = %q, %v, want %q", addr, got, err, want)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "SETTING: ") {
			t.Errorf("Resolve(%q): the error %q does not name the setting", addr, err)
		}
	}
}

func TestPortZeroIsAPortThatIsFree(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 50 {
		addr, err := loopback.Resolve(t.Context(), "127.0.0.1:0", "SETTING")
		if err != nil {
			t.Fatal(err)
		}
		if seen[addr] {
			t.Errorf("%s was given twice", addr)
		}
		seen[addr] = true
		if err := loopback.Free(t.Context(), addr, "SETTING", 0); err != nil {
			t.Error(err)
		}
	}
}

func TestFreeNamesAnAddressInUseAndWaitsForItsEnd(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	addr := l.Addr().String()
	err = loopback.Free(t.Context(), addr, "SETTING", 0)
	if want := addr +
		" is in use by another program; stop it or set SETTING to another address"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if !errors.Is(err, loopback.ErrInUse) {
		t.Errorf("ErrInUse is not in the chain of %v", err)
	}
	time.AfterFunc(100*time.Millisecond, func() { l.Close() })
	if err := loopback.Free(t.Context(), addr, "SETTING", time.Minute); err != nil {
		t.Errorf("after its end: %v", err)
	}
}
