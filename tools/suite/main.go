// Command suite runs the tests in their stages, as `make test` and `make test-full` do.
//
//	go run ./tools/suite                     what must pass before a merge, where its inputs changed
//	go run ./tools/suite -all                all of it
//	go run ./tools/suite -full               the quiet tier: race detector everywhere, strict bounds, large numbers
//	go run ./tools/suite -only processes     the stage of that name, or stages whose names contain it
//	go run ./tools/suite -packages tests/system/e2e,tests/fault -times 10   some packages, ten times, no reruns
//
// Go test runs the tests, and gotestsum prints them and reruns failures. The suite does what
// neither of them can:
//
//   - It skips a package that passed with the same inputs. The cache of go test cannot do that: it
//     does not know the programs and servers that a test runs, and every run has other servers.
//   - It builds the programs that tests run once, and starts one Kafka, PostgreSQL, Redis and
//     ClickHouse for all packages.
//   - It runs the other modules and the checks beside the tests, at a lower priority.
//   - It keeps files that tests write in memory where there is room.
//   - It fails a package that died outside its tests although a rerun passed, and ends with the
//     names of failed tests, with times against tools/suite/budget.txt, and with what it skipped.
//
// The events of go test -json and the output of failed tests stay in .cache/tests. The suite exits
// with 1 unless each test passed, the second time if not the first.
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

// results is the folder of the last run, from the root of the module.
const results = ".cache/tests"

var errRed = errors.New("not every test passed")

// choice is what the caller wants to run.
type choice struct {
	full     bool
	all      bool   // also packages whose inputs did not change
	only     string // name of a stage, or a part of the names of several
	packages string // parts of import paths, separated by commas; these always run
	times    int    // runs of each test; above 1 without reruns
	beside   string // shell command that runs beside the stages
}

func main() {
	chserver.RunIfChild()
	if len(os.Args) > 1 && os.Args[1] == runBinary {
		fmt.Fprintln(os.Stderr, "suite:", execBinary(os.Args[2:]))
		os.Exit(1)
	}
	var c choice
	flag.BoolVar(&c.full, "full", false, "race detector everywhere, then strict bounds and large numbers, three times")
	flag.BoolVar(&c.all, "all", false, "run all packages, also those that passed with the same inputs")
	flag.StringVar(&c.only, "only", "", "run the stage of this name, or the stages whose names contain it")
	flag.StringVar(&c.packages, "packages", "", "run packages whose paths contain one of these, separated by commas")
	flag.IntVar(&c.times, "times", 1, "run each test this often; above 1 without reruns")
	flag.StringVar(&c.beside, "beside", "",
		"run this shell command at a lower priority beside the stages, and fail if it fails")
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

// run runs the stages and reports their outcome.
func run(ctx context.Context, gotestsum string, c choice, out io.Writer) error {
	began := time.Now()
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
	src, err := readSources(ctx, root)
	if err != nil {
		return err
	}
	stages, err := c.choose(plan(src, c.full))
	if err != nil {
		return err
	}
	in, err := readInputs(ctx, src)
	if err != nil {
		fmt.Fprintf(out, "== every package runs, because its inputs are not known: %v\n", err)
	}
	rep := &report{folder: folder}
	if in != nil && !c.full && !c.all && c.packages == "" && c.times == 1 {
		for i := range stages {
			rep.unchanged = append(rep.unchanged, in.drop(&stages[i])...)
		}
		stages = slices.DeleteFunc(stages, func(s stage) bool { return len(s.packages) == 0 })
	}
	rep.printUnchanged(out)
	env := surroundings{root: root, folder: folder, gotestsum: gotestsum, inputs: in}
	if len(stages) > 0 {
		if env.shared, err = openShared(ctx, root, c.full); err != nil {
			return err
		}
		rep.add(outcome{stage: "programs and servers", took: time.Since(began)})
	}
	found, err := runAll(ctx, stages, c.beside, env, out)
	if err := errors.Join(err, env.shared.Close()); err != nil {
		return err
	}
	rep.add(found...)
	rep.add(outcome{stage: "total", took: time.Since(began)})
	return rep.conclude(out, filepath.Join(root, budgetFile))
}

// surroundings are what every stage runs in.
type surroundings struct {
	root, folder string // of the module and of the results
	gotestsum    string
	shared       *shared
	inputs       *inputs // nil where they are not known
}

// runAll runs one stage after the other. Beside all of them runs the command, and beside those with
// programs, which leave more of the processors idle, run the modules.
func runAll(ctx context.Context, stages []stage, command string, env surroundings, out io.Writer) ([]outcome, error) {
	var inside, programs, modules []stage
	for _, s := range stages {
		switch {
		case s.beside:
			modules = append(modules, s)
		case s.rerun:
			programs = append(programs, s)
		default:
			inside = append(inside, s)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx) // ends all work when a stage cannot run
	defer cancel(nil)
	var all []outcome
	add := func(found []outcome, err error) {
		all = append(all, found...)
		if err != nil {
			cancel(err)
		}
	}
	checks := startBeside(func(out io.Writer) ([]outcome, error) {
		if command == "" {
			return nil, nil
		}
		found, err := runCommand(ctx, env.root, command, out)
		return []outcome{found}, err
	})
	add(inTurn(ctx, inside, env, out))
	others := startBeside(func(out io.Writer) ([]outcome, error) { return inTurn(ctx, modules, env, out) })
	add(inTurn(ctx, programs, env, out))
	add(checks.wait(out))
	add(others.wait(out))
	return all, context.Cause(ctx)
}

// inTurn runs one stage after the other until ctx ends.
func inTurn(ctx context.Context, stages []stage, env surroundings, out io.Writer) (all []outcome, err error) {
	for i := 0; i < len(stages) && ctx.Err() == nil; i++ {
		found, err := stages[i].run(ctx, env, out)
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	return all, nil
}

// run runs the packages of a stage, reads their outcome, and records packages that passed.
func (s *stage) run(ctx context.Context, env surroundings, out io.Writer) (outcome, error) {
	about := s.about
	if s.rerun {
		about += "; failed tests run once more"
	}
	if s.count > 1 {
		about += fmt.Sprintf("; %d times", s.count)
	}
	fmt.Fprintf(out, "== %s: %s\n", s.name, about)
	began := time.Now()
	name := strings.NewReplacer(" ", "-", "/", "-").Replace(s.name)
	events, logs := filepath.Join(env.folder, name+".json"), filepath.Join(env.folder, name)
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return outcome{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return outcome{}, err
	}
	command := append([]string{env.gotestsum}, s.args(events, strings.Join([]string{self, runBinary, logs}, " "))...)
	if s.beside {
		command = slices.Concat(giveWay, command)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = filepath.Join(env.root, filepath.FromSlash(s.dir))
	cmd.Env = slices.Concat(cmd.Environ(), env.shared.env(s.raced), s.env, []string{buildEnv})
	cmd.Stdout, cmd.Stderr = out, out
	endsAsGroup(cmd, syscall.SIGINT)
	failed := s.start(ctx, cmd, env.shared)
	if _, ended := errors.AsType[*exec.ExitError](failed); failed != nil && !ended {
		return outcome{}, fmt.Errorf("running gotestsum: %w", failed)
	}
	found, err := readOutcome(events)
	if err != nil {
		return outcome{}, err
	}
	found.stage, found.red, found.took = s.name, failed != nil, time.Since(began)
	if !s.rerun { // a test that passed later passed in another of its runs
		found.failed, found.flaky = append(found.failed, found.flaky...), nil
	}
	fmt.Fprintf(out, "== %s: %d tests in %d packages, %s\n", s.name, found.tests, found.packages, rounded(found.took))
	if env.inputs == nil {
		return found, nil
	}
	for _, pkg := range s.packages {
		if log, err := os.ReadFile(logOf(logs, env.inputs.packages[pkg].Dir)); err == nil {
			if files := env.inputs.undeclared(pkg, log); len(files) > 0 {
				found.undeclared = append(found.undeclared, undeclared{pkg, files})
			}
		}
	}
	if found.red && len(found.failed) == 0 || s.count > 1 {
		return found, nil // a stage that failed outside its tests proves nothing
	}
	return found, env.inputs.record(ctx, s, found.passed())
}

// buildEnv is for compilers and linkers. They live for seconds and have gigabytes; their
// collectors take a tenth of their time otherwise.
const buildEnv = "GOGC=400"

// start runs the command of a stage, beside the server that its packages share.
func (s *stage) start(ctx context.Context, cmd *exec.Cmd, with *shared) error {
	if !s.oneClickHouse {
		return cmd.Run()
	}
	return with.withClickHouse(ctx, func(env string) error {
		cmd.Env = append(cmd.Env, env)
		return cmd.Run()
	})
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Second) }
