package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// beside is a command that runs while tests mostly wait. Nobody of them feels it: it
// takes what is left of the processors.
type beside struct {
	command string
	began   time.Time
	took    time.Duration // once done is closed
	printed bytes.Buffer
	done    chan struct{}
	err     error
}

// besides is the stage of tests that wait more than they compute.
const besides = "processes"

// lowest is the priority that gives way to all others.
const lowest = "19"

// startBeside starts a command of a shell in the module's folder; nothing for "".
func startBeside(ctx context.Context, root, command string) (*beside, error) {
	if command == "" {
		return nil, nil
	}
	b := &beside{command: command, began: time.Now(), done: make(chan struct{})}
	cmd := exec.CommandContext(ctx, "nice", "-n", lowest, "sh", "-c", command)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, &b.printed, &b.printed
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("running %s: %w", command, err)
	}
	go func() {
		defer close(b.done)
		b.err = cmd.Wait()
		b.took = time.Since(b.began)
	}()
	return b, nil
}

// wait waits for the end of the command, tells what it printed, and reports whether it
// ended well.
func (b *beside) wait(out io.Writer) (outcome, bool) {
	if b == nil {
		return outcome{}, false
	}
	<-b.done
	fmt.Fprintf(out, "== beside %s: %s, %s\n%s", besides, b.command, rounded(b.took), b.printed.Bytes())
	return outcome{stage: b.command, red: b.err != nil}, true
}
