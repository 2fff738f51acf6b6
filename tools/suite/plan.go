package main

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/testkit"
)

// stage is one run of go test over some packages of one module.
type stage struct {
	name, about string
	dir         string   // of the module, from the root
	packages    []string // as patterns
	raced       bool
	serial      bool // one package at a time
	linked      bool // all built before the first one runs
	rerun       bool // what failed, once
	beside      bool // runs beside the stage of processes, at a lower priority
	// oneClickHouse has all packages share a server: each of them that starts its own
	// costs ten seconds of processor.
	oneClickHouse bool
	count         int
	timeout       time.Duration // of a package
	env           []string
}

// most is how many failed tests are run once more: where more fail, they have a cause
// that is no chance.
const most = 3

// args are gotestsum's, and behind "--" those of go test, or the command that takes its
// place where the tests are built already.
func (s *stage) args(events string, built []string) []string {
	args := []string{"--format", "pkgname", "--format-hide-empty-pkg", "--hide-summary", "skipped", "--jsonfile", events}
	if s.rerun {
		args = append(args, "--rerun-fails=1", "--rerun-fails-max-failures="+strconv.Itoa(most))
	}
	if s.linked {
		return slices.Concat(args, []string{"--raw-command", "--"}, built, s.packages)
	}
	args = append(args, "--packages", strings.Join(s.packages, " "), "--",
		"-vet=off", "-shuffle=on", "-count="+strconv.Itoa(s.count), "-timeout", s.timeout.String())
	if s.serial {
		args = append(args, "-p=1")
	} else {
		// One more than there are processors: while a package waits, another computes.
		args = append(args, "-p="+strconv.Itoa(runtime.NumCPU()+1))
	}
	if s.raced {
		// What a test builds itself has no cgo, as everything else, and its collector is its own.
		args = append(append(args, raceFlags...), "-exec", "env -u GOGC CGO_ENABLED=0")
	}
	return args
}

// raceFlags has the race detector look at all but SQLite, which is translated from C: nothing in
// it runs on two goroutines without a lock of ours, and to look at each of its reads and writes
// takes half of the processor time of whatever keeps something there.
var raceFlags = []string{
	"-race",
	"-gcflags=modernc.org/sqlite/lib=-dwarf=false -race=false",
	"-gcflags=modernc.org/libc=-dwarf=false -race=false",
}

// buildEnv is of compilers and linkers, which live for seconds and have gigabytes: their
// collectors take a tenth of their time otherwise.
const buildEnv = "GOGC=400"

// racedEnv is what the race detector needs. At a program's end it waits a second for reports
// that are being written, which a tenth is enough for: there are as many programs as packages.
var racedEnv = []string{"CGO_ENABLED=1", "GORACE=atexit_sleep_ms=100"}

// processes are the folders of tests whose subject runs as processes, and those to
// which the race detector adds nothing but time. Whatever is not below one of them runs
// in process. The longest come first, so that the last one has nothing to wait for.
var processes = []string{
	"tests/system/privacy", "tests/system/operate", "tests/model", "tests/system/browser", "cmd/millrace",
	"tests/system/deployed", "tests/component/topics", "internal/analytics/analyticstest", "tools/release",
	"internal/app/standalone", "internal/archtest", "tools/docgen", "tests/system/watching", "tests/system/connections",
	"tests/component/imports", "tools/services", "tools/thirdparty",
	"tests/fault", "tests/system/e2e", "tests/system/control", "tests/system/quota", "tests/system/limits",
}

// alone are those of them that take the machine for themselves, but for what gives way to
// them, because they assert what users are promised in seconds. The others run side by side.
var alone = []string{
	"tests/fault", "tests/system/e2e", "tests/system/control", "tests/system/quota", "tests/system/limits",
}

// module is a module of its own, which ./... does not reach.
type module struct {
	dir   string
	raced bool     // one whose code is ours and runs goroutines
	env   []string // besides
}

var modules = []module{
	{dir: "sdk/go", raced: true},
	{dir: "sdk/topics/go", raced: true},
	{dir: "tests/contract/alerts"},
	{dir: "tests/contract/chart", env: []string{testkit.Unoptimized}},
}

// plan returns the stages. Those of the full run are made of the same packages.
func plan(ctx context.Context, root string, full bool) ([]stage, error) {
	here, err := list(ctx, root)
	if err != nil {
		return nil, err
	}
	inside := slices.DeleteFunc(slices.Clone(here), isProcess)
	outside := slices.DeleteFunc(here, func(p string) bool { return !isProcess(p) })
	slices.SortStableFunc(outside, func(a, b string) int { return rank(processes, a) - rank(processes, b) })
	stages := []stage{
		{
			name: "in process", about: "race detector, packages side by side",
			packages: inside, raced: true, oneClickHouse: true, timeout: 5 * time.Minute,
		},
		{
			name: stageOfProcesses, about: "as fast as production; one at a time where promises are asserted, then three",
			packages: outside, linked: true, rerun: true, timeout: 10 * time.Minute,
		},
	}
	for _, m := range modules {
		stages = append(stages, stage{
			name: "module " + m.dir, about: "a module of its own", dir: m.dir,
			packages: []string{"./..."}, raced: m.raced, beside: true, timeout: 10 * time.Minute, env: slices.Clone(m.env),
		})
	}
	for i := range stages {
		stages[i].count = 1
		if stages[i].raced {
			stages[i].env = append(stages[i].env, racedEnv...)
		}
	}
	if full {
		stages = quiet(stages)
	}
	return stages, nil
}

// quiet makes the full run's stages of the everyday ones: the processes with the race
// detector besides, and everything three times, one package at a time, with the bounds
// that users were promised.
func quiet(everyday []stage) []stage {
	const times = 3
	var stages []stage
	for _, s := range everyday {
		if s.linked {
			raced := s
			raced.name, raced.about = s.name+" raced", "race detector, one package at a time, bounds that fit it"
			raced.raced, raced.serial, raced.rerun, raced.timeout = true, true, false, time.Hour
			raced.env = slices.Concat(s.env, racedEnv, []string{testkit.SlackEnv + "=10"})
			stages = append(stages, raced)
		}
		s.about, s.serial, s.beside = "one package at a time, strict bounds and large numbers", true, false
		s.env = append(slices.Clone(s.env), testkit.SlackEnv+"=1")
		s.count, s.rerun, s.timeout = times, false, s.timeout*times*2
		stages = append(stages, s)
	}
	return stages
}

// of returns those of the stages, with those of their packages, that were chosen.
func (c choice) of(stages []stage) ([]stage, error) {
	var chosen []stage
	named := slices.ContainsFunc(stages, func(s stage) bool { return s.name == c.only })
	for _, s := range stages {
		if named && s.name != c.only || !strings.Contains(s.name, c.only) {
			continue
		}
		if c.packages != "" {
			s.packages = slices.DeleteFunc(slices.Clone(s.packages), func(pkg string) bool {
				return !slices.ContainsFunc(strings.Split(c.packages, ","),
					func(part string) bool { return strings.Contains(pkg, part) })
			})
		}
		if len(s.packages) == 0 {
			continue
		}
		if c.times > 1 {
			s.count, s.timeout, s.rerun = s.count*c.times, s.timeout*time.Duration(c.times), false
		}
		chosen = append(chosen, s)
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("ONLY=%q and PACKAGES=%q leave nothing to run", c.only, c.packages)
	}
	return chosen, nil
}

func isProcess(pkg string) bool { return rank(processes, pkg) < len(processes) }

func isAlone(pkg string) bool { return rank(alone, pkg) < len(alone) }

// rank returns the place of the folder that a package is in or below; behind all others
// for none.
func rank(folders []string, pkg string) int {
	i := slices.IndexFunc(folders, func(folder string) bool {
		return pkg == modulePath+folder || strings.HasPrefix(pkg, modulePath+folder+"/")
	})
	if i < 0 {
		return len(folders)
	}
	return i
}

const modulePath = "github.com/millrace/millrace/"

// list returns the packages of the module that have tests.
func list(ctx context.Context, root string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-f",
		"{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	return strings.Fields(string(out)), nil
}
