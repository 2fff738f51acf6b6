package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// stageOfProcesses is the stage beside which the tests of other modules run: its tests leave
// more of the processors than others.
const stageOfProcesses = "processes"

// giveWay runs a command at a priority that gives way to tests, and still goes on beside a
// program that never does.
var giveWay = []string{"nice", "-n", "10"}

// beside is work that runs while tests do. What it prints is told when it has ended.
type beside struct {
	printed bytes.Buffer
	done    chan struct{}
	found   []outcome
	err     error
}

func startBeside(ctx context.Context, work func(context.Context, io.Writer) ([]outcome, error)) *beside {
	b := &beside{done: make(chan struct{})}
	go func() {
		defer close(b.done)
		b.found, b.err = work(ctx, &b.printed)
	}()
	return b
}

// wait waits for the end of the work and tells what it printed.
func (b *beside) wait(out io.Writer) ([]outcome, error) {
	<-b.done
	_, _ = out.Write(b.printed.Bytes())
	return b.found, b.err
}

// runCommand runs a command of a shell in the module's folder, and is red if it fails.
func runCommand(ctx context.Context, root, command string, out io.Writer) (outcome, error) {
	began := time.Now()
	var printed bytes.Buffer
	cmd := exec.CommandContext(ctx, giveWay[0], slices.Concat(giveWay[1:], []string{"sh", "-c", command})...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, &printed, &printed
	endsAsGroup(cmd, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		return outcome{}, fmt.Errorf("running %s: %w", command, err)
	}
	failed := cmd.Wait()
	fmt.Fprintf(out, "== beside the tests: %s, %s\n%s", command, rounded(time.Since(began)), printed.Bytes())
	return outcome{stage: command, red: failed != nil}, nil
}

// endsAsGroup has the end of a command's context send a signal to it and to all that it
// started, and not wait for them longer than a minute.
func endsAsGroup(cmd *exec.Cmd, signal syscall.Signal) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, signal) }
	cmd.WaitDelay = time.Minute
}
