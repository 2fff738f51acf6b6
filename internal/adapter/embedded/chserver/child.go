package chserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// The hidden first arguments that make this program the child.
const (
	modeLibrary = "__millrace-clickhouse-library"
	modeRelayed = "__millrace-clickhouse-relayed"
	modeBinary  = "__millrace-clickhouse-binary"
)

// outputKept is how much of the child's output is kept for its last words.
const outputKept = 16 << 10

// child is one run of the server. exited is closed after the process ended.
type child struct {
	cmd    *exec.Cmd
	stdin  *os.File // our side of its standard input, whose end ends the server
	exited chan struct{}
	output tail
	log    errorLog
	err    error // of Wait; read after exited
}

// startChild runs this program again with the given arguments. lock stays held
// for as long as the child lives. It closes in when it fails.
func startChild(dir string, args []string, in input, lock *os.File) (*child, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("finding this program: %w", err), in.close())
	}
	defer in.far.Close()
	//nolint:gosec,noctx // our own program; it outlives the start's context
	c := &child{cmd: exec.Command(exe, args...), stdin: in.near, exited: make(chan struct{}), log: errorLogIn(dir)}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = in.far, &c.output, &c.output
	c.cmd.Dir = dir
	c.cmd.ExtraFiles = []*os.File{lock}
	c.cmd.WaitDelay = time.Second
	detach(c.cmd)
	if err := c.cmd.Start(); err != nil {
		in.near.Close()
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
	exit, failed := errors.AsType[*exec.ExitError](c.err)
	sentence, _ := epitaph(c.log.written())
	line, exception := lastLine(c.output.String())
	switch {
	case sentence != "" && failed:
		return shortened(exit.String() + ": " + sentence)
	case sentence != "":
		return shortened(sentence)
	case exception:
		return line
	case failed && !exit.Exited(): // a signal, of which the output knows nothing
		return exit.String()
	case line != "":
		return line
	case failed:
		return exit.String()
	}
	return "it ended by itself"
}

// lastLine picks the line that explains an end: ClickHouse's last exception, of
// which it tells, else whatever was written last.
func lastLine(output string) (line string, isIt bool) {
	var last, exception string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(controls.ReplaceAllString(line, ""))
		if line == "" || strings.HasPrefix(line, "Logging ") { // where it logs explains nothing
			continue
		}
		last = line
		if isException(line) {
			exception = line
		}
	}
	if exception != "" {
		return shortened(exception), true
	}
	return shortened(last), false
}

// controls are what a program writes for a terminal alone.
var controls = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]`)

func shortened(line string) string {
	const maxLen = 300
	if r := []rune(line); len(r) > maxLen {
		return string(r[:maxLen]) + "…"
	}
	return line
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
