package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/testkit"
)

const modulePath = "github.com/millrace/millrace/"

// stage is one run of go test over some packages of one module.
type stage struct {
	name, about   string
	dir           string   // of the module, from the root
	packages      []string // import paths
	raced         bool     // with the race detector
	serial        bool     // one package at a time
	rerun         bool     // runs failed tests once more
	beside        bool     // runs beside the other stages, at a lower priority
	oneClickHouse bool     // its packages share a server: starting one costs ten seconds of processor
	count         int      // runs of each test
	timeout       time.Duration
	env           []string
}

// maxReruns is the most failed tests that are run once more. More failures have a cause other
// than chance.
const maxReruns = 3

// args returns the arguments of gotestsum and, after "--", those of go test. runner starts each
// test binary.
func (s *stage) args(events, runner string) []string {
	args := []string{"--format", "pkgname", "--format-hide-empty-pkg", "--hide-summary", "skipped", "--jsonfile", events}
	if s.rerun {
		args = append(args, "--rerun-fails=1", "--rerun-fails-max-failures="+strconv.Itoa(maxReruns))
	}
	// One package more than there are processors: while one waits, another computes.
	parallel := runtime.NumCPU() + 1
	if s.serial {
		parallel = 1
	}
	args = append(args, "--packages", strings.Join(s.packages, " "), "--", "-vet=off", "-shuffle=on", "-exec", runner,
		"-count="+strconv.Itoa(s.count), "-timeout", s.timeout.String(), "-p="+strconv.Itoa(parallel))
	if s.raced {
		args = append(args, raceFlags...)
	}
	return args
}

// raceFlags exclude SQLite from the race detector. SQLite is translated from C, and no two
// goroutines run it without a lock of ours. Checking it takes half the processor time of every
// test that uses a store.
var raceFlags = []string{
	"-race",
	"-gcflags=modernc.org/sqlite/lib=-dwarf=false -race=false",
	"-gcflags=modernc.org/libc=-dwarf=false -race=false",
}

// racedEnv is the environment of raced packages. By default each raced program waits a second
// at its end for reports that are being written; a tenth of a second is enough.
var racedEnv = []string{"CGO_ENABLED=1", "GORACE=atexit_sleep_ms=100"}

// promises are the folders of tests that assert bounds of time promised to users. Only work of
// lower priority runs beside them.
var promises = []string{
	"tests/fault", "tests/system/e2e", "tests/system/control", "tests/system/quota", "tests/system/limits",
}

// processes are the other folders of tests that run programs. The longest are first, so that no
// processor waits for the last one.
var processes = []string{
	"tests/system/privacy", "tests/system/operate", "tests/system/browser", "cmd/millrace", "tests/system/deployed",
	"tests/component/topics", "internal/analytics/analyticstest", "tools/release", "internal/app/standalone",
	"tests/system/watching", "tests/system/connections", "tests/component/imports", "tools/services",
}

// raced are the packages whose goroutines share state, tested with the race detector; "/..." adds
// all packages below. TestPlan_RacesPackagesThatStartGoroutines keeps the list complete.
var raced = []string{
	"internal/adapter/clickhouse", "internal/adapter/clickhouse/clickhousetest", "internal/adapter/clickhouse/insert",
	"internal/adapter/clickhouse/query", "internal/adapter/domaincheck", "internal/adapter/embedded/chlibrary",
	"internal/adapter/embedded/chserver", "internal/adapter/kafka", "internal/adapter/load", "internal/adapter/redis",
	"internal/analytics", "internal/api/flagapi", "internal/api/httpkit", "internal/api/httpkit/mcp",
	"internal/api/ingestapi",
	"internal/api/queryapi", "internal/api/rpc", "internal/app/...", "internal/pipeline/...",
	"internal/platform/admission", "internal/platform/control", "internal/platform/fair", "internal/platform/lease",
	"internal/platform/lifecycle", "internal/platform/readcache", "internal/platform/telemetry",
	"internal/privacy/erasure", "internal/privacy/salt", "internal/resource/flag/exposure",
	"internal/resource/flag/flagset", "internal/resource/link", "internal/resource/link/linkcache",
	"internal/resource/link/redirect", "internal/tenant/quota", "internal/tenant/ratelimit",
	"internal/testkit/services", "tests/component/edge", "tests/component/links", "tests/component/sink",
}

// isRaced reports whether the list matches a package.
func isRaced(pkg string) bool {
	pkg = strings.TrimPrefix(pkg, modulePath)
	return slices.ContainsFunc(raced, func(of string) bool {
		folder, below := strings.CutSuffix(of, "/...")
		return pkg == folder || below && strings.HasPrefix(pkg, folder+"/")
	})
}

// module is a Go module of its own, which ./... of the root does not match.
type module struct {
	dir   string
	raced bool
	env   []string
}

var modules = []module{
	{dir: "sdk/go", raced: true},
	{dir: "sdk/topics/go", raced: true},
	{dir: "tests/contract/alerts"},
	{dir: "tests/contract/chart", env: []string{testkit.Unoptimized}},
}

// plan returns the stages of a run, with all packages of the sources that have tests.
func plan(src *sources, full bool) []stage {
	stages := everyday(src)
	if full {
		stages = thorough(src)
	}
	for _, m := range modules {
		s := stage{
			name: "module " + m.dir, about: "a module of its own", dir: m.dir, packages: src.tested[m.dir], raced: m.raced,
			beside: true, timeout: 10 * time.Minute, env: slices.Clone(m.env),
		}
		if full {
			s = quiet(s)
		}
		stages = append(stages, s)
	}
	for i := range stages {
		stages[i].count = max(stages[i].count, 1)
		if stages[i].raced {
			stages[i].env = append(stages[i].env, racedEnv...)
		}
	}
	return stages
}

// everyday returns the stages of the module at the root in a run before a merge.
func everyday(src *sources) []stage {
	others := src.matching(func(p string) bool { return within(processes, p) })
	slices.SortStableFunc(others, func(a, b string) int { return rank(processes, a) - rank(processes, b) })
	return []stage{
		{
			name: "raced", about: "in process, with the race detector", raced: true, oneClickHouse: true,
			packages: src.matching(func(p string) bool { return !isProgram(p) && isRaced(p) }), timeout: 5 * time.Minute,
		},
		{
			name: "in process", about: "without the race detector", oneClickHouse: true,
			packages: src.matching(func(p string) bool { return !isProgram(p) && !isRaced(p) }), timeout: 5 * time.Minute,
		},
		{
			name: "promises", about: "programs, one package at a time", serial: true, rerun: true,
			packages: src.matching(func(p string) bool { return within(promises, p) }), timeout: 10 * time.Minute,
		},
		{
			name: "processes", about: "programs, packages side by side", rerun: true,
			packages: others, timeout: 10 * time.Minute,
		},
	}
}

// thorough returns the stages of the module at the root in the full run.
func thorough(src *sources) []stage {
	programs := src.matching(isProgram)
	return []stage{
		quiet(stage{
			name: "in process", raced: true, oneClickHouse: true,
			packages: src.matching(func(p string) bool { return !isProgram(p) }), timeout: 5 * time.Minute,
		}),
		{
			name: "processes raced", about: "race detector, one package at a time, bounds that fit it",
			raced: true, serial: true, packages: programs, timeout: time.Hour, env: []string{testkit.SlackEnv + "=10"},
		},
		quiet(stage{name: "processes", packages: programs, timeout: 10 * time.Minute}),
	}
}

// quiet returns the stage as the full run has it: everything three times, one package at a time,
// with the bounds that users were promised.
func quiet(s stage) stage {
	const times = 3
	s.about, s.serial, s.beside, s.rerun = "one package at a time, strict bounds and large numbers", true, false, false
	s.count, s.timeout = times, s.timeout*times*2
	s.env = append(s.env, testkit.SlackEnv+"=1")
	return s
}

// choose returns those of the stages, with those of their packages, that were asked for.
func (c choice) choose(stages []stage) ([]stage, error) {
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
		return nil, fmt.Errorf("ONLY=%q and PACKAGES=%q match no package with tests", c.only, c.packages)
	}
	return chosen, nil
}

// isProgram reports whether the tests of a package run programs.
func isProgram(pkg string) bool { return within(processes, pkg) || within(promises, pkg) }

// within reports whether one of the folders contains a package.
func within(folders []string, pkg string) bool { return rank(folders, pkg) < len(folders) }

// rank returns the index of the folder that contains a package, or len(folders).
func rank(folders []string, pkg string) int {
	i := slices.IndexFunc(folders, func(folder string) bool {
		return pkg == modulePath+folder || strings.HasPrefix(pkg, modulePath+folder+"/")
	})
	if i < 0 {
		return len(folders)
	}
	return i
}

// sources are the packages of all modules of the checkout.
type sources struct {
	root     string
	packages map[string]pkgSource // by import path, test variants as go list -test names them
	tested   map[string][]string  // packages with tests, by the module's folder
}

// pkgSource is what go list -json reports of a package (cmd/go/internal/load.PackagePublic).
type pkgSource struct {
	ImportPath   string   `json:"ImportPath"`
	Dir          string   `json:"Dir"`
	ForTest      string   `json:"ForTest"`
	GoFiles      []string `json:"GoFiles"`
	CgoFiles     []string `json:"CgoFiles"`
	SFiles       []string `json:"SFiles"`
	HFiles       []string `json:"HFiles"`
	EmbedFiles   []string `json:"EmbedFiles"`
	Deps         []string `json:"Deps"`
	TestGoFiles  []string `json:"TestGoFiles"`
	XTestGoFiles []string `json:"XTestGoFiles"`
}

// readSources lists the packages of the checkout at root, with all that they import.
func readSources(ctx context.Context, root string) (*sources, error) {
	src := &sources{root: root, packages: map[string]pkgSource{}, tested: map[string][]string{}}
	if err := src.read(ctx, ""); err != nil {
		return nil, err
	}
	for _, m := range modules {
		if err := src.read(ctx, m.dir); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// read adds the packages of the module in a folder, also those that go test will reject.
func (s *sources) read(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-e", "-test", "-deps",
		"-json=ImportPath,Dir,ForTest,GoFiles,CgoFiles,SFiles,HFiles,EmbedFiles,Deps,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = filepath.Join(s.root, filepath.FromSlash(dir))
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("listing the packages of %s: %w", cmd.Dir, explained(err))
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkgSource
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("reading the output of go list: %w", err)
		}
		if !s.inside(p.Dir) {
			continue
		}
		s.packages[p.ImportPath] = p
		if p.ForTest == "" && len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 {
			s.tested[dir] = append(s.tested[dir], p.ImportPath)
		}
	}
	slices.Sort(s.tested[dir])
	return nil
}

// matching returns the packages with tests of the module at the root for which match is true.
func (s *sources) matching(match func(pkg string) bool) []string {
	return slices.DeleteFunc(slices.Clone(s.tested[""]), func(pkg string) bool { return !match(pkg) })
}

// inside reports whether a folder belongs to the checkout.
func (s *sources) inside(dir string) bool {
	return dir == s.root || strings.HasPrefix(dir, s.root+string(filepath.Separator))
}
