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

// beside is a command that runs while tests do: it takes what they leave of the
// processors.
type beside struct {
	command string
	began   time.Time
	took    time.Duration // once done is closed
	printed bytes.Buffer
	done    chan struct{}
	err     error
}

// stageOfProcesses is the stage that a command runs beside: its tests leave more of the
// processors than others.
const stageOfProcesses = "processes"

// lower is the priority of what runs beside tests: it gives way to them, and still goes on
// beside a program that never does.
const lower = "10"

// startBeside starts a command of a shell in the module's folder; nothing for "".
func startBeside(ctx context.Context, root, command string) (*beside, error) {
	if command == "" {
		return nil, nil
	}
	b := &beside{command: command, began: time.Now(), done: make(chan struct{})}
	cmd := exec.CommandContext(ctx, "nice", "-n", lower, "sh", "-c", command)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, &b.printed, &b.printed
	endsAsGroup(cmd, syscall.SIGTERM)
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
	fmt.Fprintf(out, "== beside the tests: %s, %s\n%s", b.command, rounded(b.took), b.printed.Bytes())
	return outcome{stage: b.command, red: b.err != nil}, true
}

// aside are stages that run one after the other beside another, and what they print, which
// is told when they have ended.
type aside struct {
	printed bytes.Buffer
	done    chan struct{}
	found   []outcome
	err     error
}

// startAside starts the stages.
func startAside(ctx context.Context, stages []stage, in surroundings) *aside {
	a := &aside{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		for i := range stages {
			if ctx.Err() != nil {
				return
			}
			found, err := stages[i].run(ctx, in, &a.printed)
			if err != nil {
				a.err = err
				return
			}
			a.found = append(a.found, found)
		}
	}()
	return a
}

// end waits for the end of the stages.
func (a *aside) end() {
	if a != nil {
		<-a.done
	}
}

// wait waits for the end of the stages and tells what they printed.
func (a *aside) wait(out io.Writer) ([]outcome, error) {
	if a == nil {
		return nil, nil
	}
	a.end()
	_, _ = out.Write(a.printed.Bytes())
	return a.found, a.err
}

// endsAsGroup has the end of a command's context send a signal to it and to all that it
// started, and not wait for them longer than a minute.
func endsAsGroup(cmd *exec.Cmd, signal syscall.Signal) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, signal) }
	cmd.WaitDelay = time.Minute
}
