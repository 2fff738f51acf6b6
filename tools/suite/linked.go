package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// runLinked is the word that makes this program run test binaries that were built before,
// as gotestsum's raw command.
const runLinked = "run-linked"

// hangs is how long beyond its time-out a binary may stay: its own panic says more.
const hangs = time.Minute

// linked are the test binaries of some packages, and how each is run.
type linked struct {
	root, folder string
	test2json    string
	serial       bool          // no two packages at a time
	timeout      time.Duration // of a package
	count        int
}

// link builds the test binaries of a stage into a folder. All of them are built at once:
// go test -p 1 builds each one before its run, so that the disk reads what the linker
// needs one by one, and nobody uses the other processor.
func (s *stage) link(ctx context.Context, root, folder string) (linked, error) {
	l := linked{
		root: root, folder: filepath.Join(folder, strings.ReplaceAll(s.name, " ", "-")), serial: s.serial, timeout: s.timeout,
		count: s.count,
	}
	if err := os.MkdirAll(l.folder, 0o755); err != nil {
		return l, err
	}
	tool := exec.CommandContext(ctx, "go", "tool", "-n", "test2json")
	out, err := tool.Output()
	if err != nil {
		return l, fmt.Errorf("finding test2json: %w", err)
	}
	l.test2json = strings.TrimSpace(string(out))
	// Without what only a debugger reads, as go test does it.
	args := []string{"test", "-c", "-ldflags=-s -w", "-o", l.folder + string(filepath.Separator)}
	if s.raced {
		args = append(args, raceFlags...)
	}
	build := exec.CommandContext(ctx, "go", append(args, s.packages...)...)
	build.Dir, build.Env = root, append(append(build.Environ(), s.env...), buildEnv)
	if out, err := build.CombinedOutput(); err != nil {
		return l, fmt.Errorf("building the tests: %w\n%s", err, out)
	}
	return l, nil
}

// command is what gotestsum runs; behind it come packages and, in a second run, the
// pattern of a test and the package that it is in.
func (l linked) command() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return []string{
		self, runLinked, "-root", l.root, "-folder", l.folder, "-test2json", l.test2json,
		"-serial=" + strconv.FormatBool(l.serial), "-timeout", l.timeout.String(), "-count", strconv.Itoa(l.count),
	}, nil
}

// mainLinked is main behind that word. It exits with 1 if a package failed, in
// whichever way, as go test does.
func mainLinked(args []string) int {
	var l linked
	flags := flag.NewFlagSet(runLinked, flag.ExitOnError)
	flags.StringVar(&l.root, "root", "", "the module's folder")
	flags.StringVar(&l.folder, "folder", "", "the folder of the binaries")
	flags.StringVar(&l.test2json, "test2json", "", "path of the program of that name")
	flags.BoolVar(&l.serial, "serial", false, "run no two packages at a time")
	flags.DurationVar(&l.timeout, "timeout", 0, "of each package")
	flags.IntVar(&l.count, "count", 1, "run each test so often")
	_ = flags.Parse(args) // which exits
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if !l.runAll(ctx, flags.Args(), os.Stdout) {
		return 1
	}
	return 0
}

// atOnce is how many packages run at a time, of those that may. Each waits for a fifth of its
// time or more, so two at a time would leave two processors idle for a part of it.
const atOnce = 3

// runAll runs what the arguments name, and reports whether all of it passed.
func (l linked) runAll(ctx context.Context, args []string, events io.Writer) bool {
	packages, pattern := wanted(args)
	var failed atomic.Bool
	whole := &lines{to: events}
	run := func(pkg string) {
		if ctx.Err() != nil {
			failed.Store(true)
			return
		}
		if err := l.run(ctx, pkg, pattern, whole); err != nil {
			failed.Store(true)
			if _, told := errors.AsType[*exec.ExitError](err); !told {
				fmt.Fprintf(os.Stderr, "%s: %v\n", pkg, err)
			}
		}
	}
	var together errgroup.Group
	together.SetLimit(atOnce)
	if l.serial {
		together.SetLimit(1)
	}
	// First those that leave something of the processors to what runs beside the stage.
	for _, pkg := range packages {
		if isAlone(pkg) {
			run(pkg)
		}
	}
	for _, pkg := range packages {
		if !isAlone(pkg) {
			together.Go(func() error { run(pkg); return nil })
		}
	}
	_ = together.Wait()
	return !failed.Load()
}

// lines is where several writers write lines, each of which stays whole.
type lines struct {
	mu sync.Mutex
	to io.Writer
}

// line is one of the writers.
type line struct {
	*lines

	part []byte
}

// Write writes the lines that are whole, and keeps the rest.
func (l *line) Write(p []byte) (int, error) {
	l.part = append(l.part, p...)
	end := bytes.LastIndexByte(l.part, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.to.Write(l.part[:end]); err != nil {
		return 0, err
	}
	l.part = append(l.part[:0], l.part[end:]...)
	return len(p), nil
}

// wanted returns the packages to run, and the flag that chooses a test. Gotestsum puts
// the latter, with its package, behind all that it was told.
func wanted(args []string) (packages []string, pattern string) {
	for i, arg := range args {
		if strings.HasPrefix(arg, "-test.run=") {
			return args[i+1:], arg
		}
	}
	return args, ""
}

// run runs the tests of a package and writes their events.
func (l linked) run(ctx context.Context, pkg, pattern string, events *lines) error {
	ctx, cancel := context.WithTimeout(ctx, l.timeout+hangs)
	defer cancel()
	args := []string{
		"-t", "-p", pkg, filepath.Join(l.folder, path.Base(pkg)+".test"), "-test.v=test2json", "-test.paniconexit0",
		"-test.shuffle=on", "-test.timeout=" + l.timeout.String(), "-test.count=" + strconv.Itoa(l.count),
	}
	if pattern != "" {
		args = append(args, pattern)
	}
	cmd := exec.CommandContext(ctx, l.test2json, args...)
	cmd.Dir = filepath.Join(l.root, filepath.FromSlash(strings.TrimPrefix(pkg, modulePath)))
	// What a test builds itself has no cgo, also where the race detector needed it.
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	cmd.Stdout, cmd.Stderr = &line{lines: events}, os.Stderr
	// Test2json takes no notice of an interrupt, the tests do.
	endsAsGroup(cmd, syscall.SIGINT)
	return cmd.Run()
}
