package testkit

import (
	"bytes"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Log collects what a part of the test writes to its log. It is safe for
// concurrent use, also after the test has ended.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// NewLog returns a Log that is shown when the test fails.
func NewLog(tb testing.TB, name string) *Log {
	tb.Helper()
	l := &Log{}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("log of %s:\n%s", name, shown(l.String()))
		}
	})
	return l
}

// Logger returns a logger at debug level that writes to the Log as text.
func (l *Log) Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String returns everything written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// Contains reports whether the text went by.
func (l *Log) Contains(text string) bool { return strings.Contains(l.String(), text) }

var _ io.Writer = (*Log)(nil)

// How many lines of a log are shown: of its end, and of the stacks that a process leaves
// that was told to (SIGQUIT), panicked or broke, which stand behind all else.
const (
	shownLines  = 60
	shownStacks = 2000
)

// stacks is the line with which the runtime begins to say where each goroutine is.
var stacks = regexp.MustCompile(`(?m)^(SIGQUIT: quit|panic: |fatal error: )`)

// shown is the end of a log: its last lines, and the stacks behind them.
func shown(log string) string {
	log = strings.TrimRight(log, "\n")
	at := stacks.FindStringIndex(log)
	if at == nil {
		return lastLines(log, shownLines)
	}
	left := strings.Split(log[at[0]:], "\n")
	return lastLines(log[:at[0]], shownLines) + strings.Join(left[:min(len(left), shownStacks)], "\n")
}

func lastLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
