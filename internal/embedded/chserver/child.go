package chserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// The hidden first arguments that make this program the child.
const (
	modeLibrary = "__millrace-clickhouse-library"
	modeBinary  = "__millrace-clickhouse-binary"
)

// outputKept is how much of the child's output is kept for its last words.
const outputKept = 16 << 10

// child is one run of the server. exited is closed after the process ended.
type child struct {
	cmd    *exec.Cmd
	stdin  *os.File // the pipe whose end ends the server
	exited chan struct{}
	output tail
	err    error // of Wait; read after exited
}

// startChild runs this program again with the given arguments. lock stays held
// for as long as the child lives.
func startChild(dir string, args []string, lock *os.File) (*child, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	defer r.Close()
	c := &child{cmd: exec.Command(exe, args...), stdin: w, exited: make(chan struct{})} //nolint:gosec,noctx // our own program; it outlives the start's context
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = r, &c.output, &c.output
	c.cmd.Dir = dir
	c.cmd.ExtraFiles = []*os.File{lock}
	c.cmd.WaitDelay = time.Second
	detach(c.cmd)
	if err := c.cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("starting the embedded ClickHouse: %w", err)
	}
	// Who waits for the folder reads here for whom; the lock is what counts.
	_ = os.WriteFile(filepath.Join(dir, pidFile), fmt.Appendf(nil, "%d\n", c.cmd.Process.Pid), 0o600)
	go func() {
		c.err = c.cmd.Wait()
		close(c.exited)
	}()
	return c, nil
}

// stop ends the server cleanly, or by force when it takes too long.
func (c *child) stop(within time.Duration) {
	c.stdin.Close()
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-c.exited:
	case <-t.C:
		_ = c.cmd.Process.Kill() // it may have ended in this moment
		<-c.exited
	}
}

// lastWords says in one sentence why the server ended; call it after exited.
func (c *child) lastWords() string {
	<-c.exited
	c.stdin.Close()
	if line := lastLine(c.output.String()); line != "" {
		return line
	}
	if exit, ok := errors.AsType[*exec.ExitError](c.err); ok {
		return exit.String()
	}
	return "it ended by itself"
}

// lastLine picks the line that explains an end: ClickHouse's last exception,
// else whatever was written last.
func lastLine(output string) string {
	const maxLen = 300
	var last, exception string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "Logging ") { // where it logs explains nothing
			continue
		}
		last = line
		if strings.Contains(line, "DB::Exception") || strings.Contains(line, "Poco::Exception") {
			exception = line
		}
	}
	if exception != "" {
		last = exception
	}
	if r := []rune(last); len(r) > maxLen {
		last = string(r[:maxLen]) + "…"
	}
	return last
}

// tail keeps the end of what is written to it. It is safe for concurrent use.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if extra := len(t.buf) - outputKept; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	return len(p), nil
}

// String returns what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
