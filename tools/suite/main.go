// Command suite runs the tests in their tiers, as `make test` and `make test-full` do.
//
//	go run ./tools/suite            what must pass before a merge
//	go run ./tools/suite -full      the quiet tier: race detector everywhere, strict bounds, large numbers
//	go run ./tools/suite -only processes   the stage of that name, or those whose names contain it
//	go run ./tools/suite -packages tests/system/e2e,tests/fault -times 10   some packages, ten times, none run again
//
// It builds the programs that tests run as processes once, starts one Kafka, PostgreSQL
// and Redis for all of them, and one ClickHouse for those in process, and hands them to the
// tests by their environment. The tests of processes are built before the first one runs.
// Beside them, at a lower priority, run the tests of the other modules, and beside all stages
// the command of -beside, such as the checks. Every stage runs, whatever the ones before it
// found.
//
// It promises that what it says last is true and short: which tests failed, and which
// failed and passed when they were run once more (FLAKY), each with the file that keeps
// what it printed. The events of go test -json of every stage stay in .cache/tests. It
// exits with 1 unless each test passed, the second time if not the first.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/millrace/millrace/internal/adapter/embedded/chserver"
	"github.com/millrace/millrace/internal/testkit"
)

// Results is where the last run is kept, from the root of the module.
const results = ".cache/tests"

var errRed = errors.New("not every test passed")

// choice is what somebody wants to be run.
type choice struct {
	full     bool
	only     string // name of a stage, or else part of the names of several
	packages string // parts of the names of packages of the module, with commas between
	times    int    // of each test; above 1 nothing is run again
	beside   string // command that runs beside the stages
}

func main() {
	chserver.RunIfChild()
	if len(os.Args) > 1 && os.Args[1] == runLinked {
		os.Exit(mainLinked(os.Args[2:]))
	}
	var c choice
	flag.BoolVar(&c.full, "full", false, "race detector everywhere, then strict bounds and large numbers, three times")
	flag.StringVar(&c.only, "only", "", "run the stage of this name, or else those whose names contain it")
	flag.StringVar(&c.packages, "packages", "", "run the packages whose paths contain one of these, with commas between")
	flag.IntVar(&c.times, "times", 1, "run each test so often; above 1 nothing is run again")
	flag.StringVar(&c.beside, "beside", "",
		"run this command of a shell at a lower priority beside the stages, and be red if it fails")
	gotestsum := flag.String("gotestsum", "gotestsum", "path of gotestsum")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *gotestsum, c, os.Stdout); err != nil {
		if !errors.Is(err, errRed) {
			fmt.Fprintln(os.Stderr, "suite:", err)
		}
		os.Exit(1) //nolint:gocritic // the signal handler ends with the process
	}
}

// run runs the stages and says in the end what they found.
func run(ctx context.Context, gotestsum string, c choice, out io.Writer) error {
	root, err := testkit.ModuleRoot()
	if err != nil {
		return err
	}
	folder := filepath.Join(root, filepath.FromSlash(results))
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	stages, err := plan(ctx, root, c.full)
	if err != nil {
		return err
	}
	if stages, err = c.of(stages); err != nil {
		return err
	}
	began := time.Now()
	shared, err := openShared(ctx, root, c.full)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "== programs built and servers started in %s\n", rounded(time.Since(began)))
	all, err := runAll(ctx, stages, c.beside,
		surroundings{root: root, folder: folder, gotestsum: gotestsum, shared: shared}, out)
	if err := errors.Join(err, ctx.Err(), shared.Close()); err != nil {
		return err
	}
	return conclude(all, folder, out)
}

// surroundings are what every stage is run in.
type surroundings struct {
	root, folder string // of the module, and of the results
	gotestsum    string
	shared       *shared
}

// runAll runs one stage after the other. Beside all of them, from the first one on, runs the
// command; beside that of processes run the stages that may.
func runAll(ctx context.Context, stages []stage, command string, in surroundings, out io.Writer) ([]outcome, error) {
	first, later := apart(stages)
	ctx, cancel := context.WithCancel(ctx) // ends what runs beside where a stage can not be run
	var others []*beside
	defer func() {
		cancel()
		for _, b := range others {
			<-b.done
		}
	}()
	if command != "" {
		others = append(others, startBeside(ctx, func(ctx context.Context, out io.Writer) ([]outcome, error) {
			found, err := runCommand(ctx, in.root, command, out)
			return []outcome{found}, err
		}))
	}
	all, err := inTurn(ctx, first, func(i int) {
		if first[i].name == stageOfProcesses {
			others = append(others, startBeside(ctx, func(ctx context.Context, out io.Writer) ([]outcome, error) {
				return inTurn(ctx, later, func(int) {}, in, out)
			}))
		}
	}, in, out)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, b := range others {
		found, err := b.wait(out)
		all, errs = append(all, found...), append(errs, err)
	}
	return all, errors.Join(errs...)
}

// inTurn runs one stage after the other until ctx ends, each after a call of before.
func inTurn(
	ctx context.Context, stages []stage, before func(i int), in surroundings, out io.Writer,
) (all []outcome, err error) {
	for i := 0; i < len(stages) && ctx.Err() == nil; i++ {
		before(i)
		found, err := stages[i].run(ctx, in, out)
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	return all, nil
}

// apart splits stages into those that run one after the other, and those that run beside
// the one of processes: none without that.
func apart(stages []stage) (first, later []stage) {
	if !slices.ContainsFunc(stages, func(s stage) bool { return s.name == stageOfProcesses }) {
		return stages, nil
	}
	for i := range stages {
		if stages[i].beside {
			later = append(later, stages[i])
		} else {
			first = append(first, stages[i])
		}
	}
	return first, later
}

// run runs the packages of a stage and reads what they told.
func (s *stage) run(ctx context.Context, in surroundings, out io.Writer) (outcome, error) {
	about := s.about
	if s.rerun {
		about += "; what fails is run once more"
	}
	if s.count > 1 {
		about += fmt.Sprintf("; %d times", s.count)
	}
	fmt.Fprintf(out, "== %s: %s\n", s.name, about)
	began := time.Now()
	events := filepath.Join(in.folder, strings.ReplaceAll(s.name, " ", "-")+".json")
	var built []string
	if s.linked {
		tests, err := s.link(ctx, in.root, in.shared.scratch.Path)
		defer os.RemoveAll(tests.folder)
		if err == nil {
			built, err = tests.command()
		}
		if err != nil { // which is no reason to say nothing of the other stages
			fmt.Fprintf(out, "== %s: %v\n", s.name, err)
			return outcome{stage: s.name, red: true}, ctx.Err()
		}
		fmt.Fprintf(out, "== %s: built in %s\n", s.name, rounded(time.Since(began)))
	}
	command := append([]string{in.gotestsum}, s.args(events, built)...)
	if s.beside {
		command = slices.Concat(giveWay, command)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = filepath.Join(in.root, filepath.FromSlash(s.dir))
	cmd.Env = append(append(cmd.Environ(), in.shared.env(s.raced)...), s.env...)
	if s.raced && !s.linked { // then go test takes it away from what it runs
		cmd.Env = append(cmd.Env, buildEnv)
	}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	failed := s.start(ctx, cmd, in.shared)
	if _, ended := errors.AsType[*exec.ExitError](failed); failed != nil && !ended {
		return outcome{}, fmt.Errorf("running gotestsum: %w", failed)
	}
	found, err := readOutcome(events)
	if err != nil {
		return outcome{}, err
	}
	found.stage, found.red = s.name, failed != nil
	if !s.rerun { // then it was no second chance that passed
		found.failed, found.flaky = append(found.failed, found.flaky...), nil
	}
	fmt.Fprintf(out, "== %s: %d tests in %d packages, %s\n",
		s.name, found.tests, found.packages, rounded(time.Since(began)))
	return found, nil
}

// start runs a command of the stage, beside the server that its packages share.
func (s *stage) start(ctx context.Context, cmd *exec.Cmd, with *shared) error {
	if !s.oneClickHouse {
		return cmd.Run()
	}
	return with.withClickHouse(ctx, func(env string) error {
		cmd.Env = append(cmd.Env, env)
		return cmd.Run()
	})
}

// conclude tells what failed, keeps what it printed, and is errRed unless all passed.
func conclude(all []outcome, folder string, out io.Writer) error {
	var red bool
	for _, o := range all {
		for _, t := range o.flaky {
			fmt.Fprintf(out, "FLAKY\t%s\t%s\n", t, t.keep(folder))
		}
	}
	for _, o := range all {
		red = red || o.red || len(o.failed) > 0
		for _, t := range o.failed {
			fmt.Fprintf(out, "FAIL\t%s\t%s\n", t, t.keep(folder))
		}
		if o.red && len(o.failed) == 0 {
			fmt.Fprintf(out, "FAIL\t%s, and no test of it: see above\n", o.stage)
		}
	}
	if red {
		return errRed
	}
	return nil
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Second) }
