package testkit

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestReservedPortIsHandedOutOnceAndCanBeBound(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 200 {
		port := FreePort(t)
		if seen[port] {
			t.Fatalf("port %d was handed out twice", port)
		}
		seen[port] = true
	}
	for port := range seen {
		l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			t.Fatalf("binding a reserved port: %v", err)
		}
		l.Close()
	}
}

func TestWaitForReturnsTheLastErrorOfAConditionThatStaysFalse(t *testing.T) {
	t.Parallel()
	errNotYet := errors.New("not yet")
	if err := WaitFor(30*time.Millisecond, func() error { return errNotYet }); !errors.Is(err, errNotYet) {
		t.Errorf("WaitFor() = %v, want %v", err, errNotYet)
	}
	left := 3
	err := WaitFor(10*time.Second, func() error {
		if left--; left > 0 {
			return errNotYet
		}
		return nil
	})
	if err != nil {
		t.Errorf("WaitFor() = %v, want nil", err)
	}
}

func TestShortDirLeavesRoomForASocketName(t *testing.T) {
	t.Parallel()
	if dir := ShortDir(t); len(dir) > 60 {
		t.Errorf("ShortDir() = %q, %d bytes long", dir, len(dir))
	}
}

func TestLogShowsItsEnd(t *testing.T) {
	t.Parallel()
	l := &Log{}
	l.Logger().Debug("first")
	for range shownLines {
		l.Logger().Info("later")
	}
	if !l.Contains("first") {
		t.Error("Contains() is false for a line that was written")
	}
	if got := shown(l.String()); strings.Contains(got, "first") || strings.Count(got, "later") != shownLines {
		t.Errorf("shown() = %q, want the last %d lines", got, shownLines)
	}
}

func TestLogShowsTheStacksOfAProcessThatEnded(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"SIGQUIT: quit", "panic: gone", "fatal error: all goroutines are asleep"} {
		l := &Log{}
		l.Logger().Info("before")
		fmt.Fprintf(l, "%s\n\n%s", first, strings.Repeat("goroutine 1 [running]:\n", 3*shownLines))
		got := shown(l.String())
		if n := strings.Count(got, "goroutine 1"); n != 3*shownLines {
			t.Errorf("%s: %d of %d lines are shown", first, n, 3*shownLines)
		}
		if !strings.Contains(got, "before") || !strings.Contains(got, "\n"+first) {
			t.Errorf("%s: what came before it is not shown: %.100s", first, got)
		}
	}
}

func TestWhoWaitsLeavesTheMachineToWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	errNotYet := errors.New("not yet")
	for took, want := range map[time.Duration]int{0: 100, 20 * time.Millisecond: 10, 300 * time.Millisecond: 2} {
		synctest.Test(t, func(t *testing.T) {
			looks := 0
			_ = WaitFor(time.Second-time.Nanosecond, func() error {
				looks++
				<-time.After(took)
				return errNotYet
			})
			if looks--; looks != want { // the last one comes after the time
				t.Errorf("a condition that takes %s is looked at %d times a second, want %d", took, looks, want)
			}
		})
	}
}
