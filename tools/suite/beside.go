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

// giveWay runs a command at a lower priority than the tests. It proceeds also beside a program
// that never waits.
var giveWay = []string{"nice", "-n", "10"}

// beside is work that runs while tests run. Its output is printed after its end.
type beside struct {
	printed bytes.Buffer
	done    chan struct{}
	found   []outcome
	err     error
}

func startBeside(work func(io.Writer) ([]outcome, error)) *beside {
	b := &beside{done: make(chan struct{})}
	go func() {
		defer close(b.done)
		b.found, b.err = work(&b.printed)
	}()
	return b
}

// wait waits for the end of the work and writes what it printed.
func (b *beside) wait(out io.Writer) ([]outcome, error) {
	<-b.done
	_, _ = out.Write(b.printed.Bytes())
	return b.found, b.err
}

// runCommand runs a shell command in the module's folder. Its outcome is red if the command fails.
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
	return outcome{stage: "checks", red: failed != nil, took: time.Since(began)}, nil
}

// endsAsGroup sends a signal to a command and to all that it started when its context ends, and
// waits at most a minute for them.
func endsAsGroup(cmd *exec.Cmd, signal syscall.Signal) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, signal) }
	cmd.WaitDelay = time.Minute
}
