package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// coresBoth lets a process run on either core.
const coresBoth = coreMeasured + "," + coreAround

// tree returns a child's process and all below it: the ClickHouse server is one.
func (c *child) tree() []int {
	all := []int{c.cmd.Process.Pid}
	for i := 0; i < len(all); i++ {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i])) // the pattern is well formed
		for _, list := range lists {
			text, err := os.ReadFile(list)
			if err != nil {
				continue // a thread that has ended
			}
			for field := range strings.FieldsSeq(string(text)) {
				if pid, err := strconv.Atoi(field); err == nil {
					all = append(all, pid)
				}
			}
		}
	}
	return all
}

// pin moves a child and all below it to cores.
func (c *child) pin(cores string) error {
	for _, pid := range c.tree() {
		if out, err := exec.Command("taskset", "-acp", cores, strconv.Itoa(pid)).CombinedOutput(); err != nil {
			return fmt.Errorf("pinning %d to %s: %w: %s", pid, cores, err, out)
		}
	}
	return nil
}

// signal sends a signal to what runs below a child, not to the child itself.
func (c *child) signal(s syscall.Signal) error {
	for _, pid := range c.tree()[1:] {
		if err := syscall.Kill(pid, s); err != nil {
			return fmt.Errorf("signalling %d: %w", pid, err)
		}
	}
	return nil
}

// cpuSeconds is the processor time that a child and all below it have used so far.
func (c *child) cpuSeconds() (float64, error) {
	sum := 0.0
	for _, pid := range c.tree() {
		seconds, err := cpuOf(pid)
		if err != nil {
			return 0, err
		}
		sum += seconds
	}
	return sum, nil
}

func cpuOf(pid int) (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is the name in parentheses; utime and stime are the 14th
	// and 15th, in hundredths of a second.
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	const utime, stime = 11, 12
	sum := 0.0
	for _, i := range []int{utime, stime} {
		ticks, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return 0, err
		}
		sum += ticks / 100
	}
	return sum, nil
}

var errNoPeak = errors.New("reading the status of a process: no VmHWM")

// peakBytes is the most memory that this process has had resident.
func peakBytes() (float64, error) { return peakBytesOf(os.Getpid()) }

// peakBytesOf is peakBytes of another process.
func peakBytesOf(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if kib, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(kib), " kB"), 64)
			return n * 1024, err
		}
	}
	return 0, errNoPeak
}
