package testkit

import (
	"errors"
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

func TestLogKeepsTheLastLines(t *testing.T) {
	t.Parallel()
	l := &Log{}
	l.Logger().Debug("first")
	l.Logger().Info("second")
	if got := lastLines(l.String(), 1); !strings.Contains(got, "second") || strings.Contains(got, "first") {
		t.Errorf("lastLines() = %q, want the second line only", got)
	}
	if !l.Contains("first") {
		t.Error("Contains() is false for a line that was written")
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
