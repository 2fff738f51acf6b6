package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
)

// everything, as an input, is the whole checkout.
const everything = ""

// common are inputs of every package, beside each go.mod and go.sum: how tests are built and run.
var common = []string{"Makefile", "tools/suite/"}

// reads lists the files outside its own folder that a package's tests read, or that a program
// reads for them: files, or folders with a slash at the end. What the tests themselves open is
// checked on every run (undeclared). What a program reads for them is listed by hand.
var reads = map[string][]string{
	"cmd/millrace": {"README.md", "SECURITY.md", "deploy/helm/", "docs/"},
	"internal/adapter/clickhouse/schema": {
		"docs/architecture/exactly-once.md", "internal/adapter/clickhouse/", "internal/analytics/",
	},
	"internal/adapter/redis":  {"docs/guides/connections.md"},
	"internal/api/httpkit":    {"internal/contract/apierr/"},
	"internal/app/doctor":     {"docs/guides/connections.md"},
	"internal/archtest":       {everything},
	"internal/pipeline/sink":  {"docs/architecture/exactly-once.md", "docs/runbooks/sink.md"},
	"internal/pipeline/tally": {"docs/reference/tables.md", "schemas/topics/"},
	"sdk/topics/go":           {"internal/contract/record/testdata/"},
	"tests/component/topics":  {"docs/guides/tapping-the-topics.md"},
	"tests/contract":          {"README.md", "docs/guides/", "docs/reference/bounds.md"},
	"tests/contract/alerts": {
		"deploy/grafana/", "deploy/prometheus/", "docs/reference/metrics.md", "docs/runbooks/",
	},
	"tests/contract/chart":         {"deploy/", "docs/guides/kubernetes.md", "tools/kubeapi/"},
	"tests/contract/chart/cluster": {"deploy/helm/", "tests/contract/chart/", "tools/kubeapi/"},
	"tests/contract/compose":       {"deploy/compose/"},
	"tests/contract/sdk":           {"sdk/go/"},
	"tests/system/browser":         {"tests/system/browser/"},
	"tests/system/deployed":        {"deploy/helm/", "tests/contract/chart/", "tools/kubeapi/"},
	"tests/system/e2e":             {"tests/contract/"},
	"tests/system/operate":         {"docs/guides/connections.md"},
	"tests/system/watching":        {"deploy/grafana/", "deploy/prometheus/"},
	"tools/chartdoc":               {"deploy/"},
	"tools/docgen":                 {"LICENSE", "cmd/", "docs/reference/", "internal/", "web/tracker/"},
	"tools/release": {
		"CHANGELOG.md", "LICENSE", "NOTICE", "README.md", "SECURITY.md", "cmd/", "deploy/", "docs/guides/installing.md",
		"internal/pipeline/enrich/data/", "tools/npm/", "tools/tracker/", "web/tracker/",
	},
	"tools/secrets":    {".gitleaks.toml"},
	"tools/suite":      {"bench/", "cmd/", "internal/", "schemas/", "sdk/", "tests/", "tools/", "web/"},
	"tools/thirdparty": {"LICENSE", "cmd/", "internal/pipeline/enrich/data/", "web/tracker/"},
	"tools/topicgen":   {"internal/contract/record/testdata/", "schemas/", "sdk/topics/", "tools/topicgen/"},
	"tools/tracker":    {"web/tracker/"},
	"tools/voice":      {".vale.ini", ".vale/styles/"},
}

var daemons = []string{"cmd/ingest-edge", "cmd/millrace", "cmd/query", "cmd/sink"}

// starts lists the programs, by their folders, that a package's tests run if they import the key,
// or are the key's.
var starts = map[string][]string{
	"internal/testkit/programs":    daemons,
	"internal/testkit/services":    {"tools/services"},
	"tests/contract/chart":         append([]string{"tools/services"}, daemons...),
	"tests/contract/chart/cluster": {"tools/services"},
	"tools/docgen":                 daemons,
	"tools/release":                daemons,
	"tools/thirdparty":             daemons,
}

// versions print the versions of programs that come from the machine. One that is missing counts
// as a version of its own.
var versions = [][]string{
	{"go", "version"},
	{"node", "--version"},
	{"npm", "--version"},
	{"java", "--version"},
	{"psql", "--version"},
	{"redis-server", "--version"},
	{"chromium", "--version"},
	{"kcat", "-V"},
	{"jq", "--version"},
	{"curl", "--version"},
	{"buildah", "--version"},
	{"etcd", "--version"},
	{"sqlite3", "--version"},
}

// inputs knows what the tests of each package depend on, and which of them passed with it.
type inputs struct {
	*sources

	folder string            // of the user's cache: one empty file for each package and key that passed
	blobs  map[string]string // git's object name of each file of HEAD
	dirty  map[string]bool   // paths with uncommitted changes
	base   string            // what all keys share, beside files
}

// readInputs fails for a folder that git does not know, such as an unpacked archive.
func readInputs(ctx context.Context, src *sources) (*inputs, error) {
	cache, err := config.CacheDir()
	if err != nil {
		return nil, err
	}
	in := &inputs{sources: src, folder: filepath.Join(cache, "passed"), base: machine()}
	if in.blobs, in.dirty, err = readTree(ctx, src.root); err != nil {
		return nil, err
	}
	return in, nil
}

// readTree returns git's object name of each file of HEAD, and the paths with uncommitted changes.
func readTree(ctx context.Context, root string) (blobs map[string]string, dirty map[string]bool, err error) {
	git := func(args ...string) []string {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = root
		out, failed := cmd.Output()
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("running git %s: %w", args[0], explained(failed)))
		}
		return strings.Split(string(out), "\x00")
	}
	blobs, dirty = map[string]string{}, map[string]bool{}
	for _, line := range git("ls-tree", "-r", "-z", "HEAD") { // mode, type and object name, then a tab and the path
		if about, file, ok := strings.Cut(line, "\t"); ok {
			blobs[file] = about
		}
	}
	for _, line := range git("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all") {
		if file := line[min(len(line), len("XY ")):]; file != "" {
			dirty[file] = true
		}
	}
	return blobs, dirty, err
}

// explained adds to a failed command's error what the command printed about it.
func explained(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}

// machine returns what tests depend on beside the checkout.
var machine = sync.OnceValue(func() string {
	printed := make([]string, len(versions))
	var wg sync.WaitGroup
	for i, command := range versions {
		wg.Go(func() {
			out, _ := exec.Command(command[0], command[1:]...).Output()
			printed[i] = string(out)
		})
	}
	wg.Wait()
	return fmt.Sprint(printed, os.Getenv("GOFLAGS"), os.Getenv("CGO_ENABLED"), os.Getenv(testkit.SlackEnv))
})

// files returns the paths of all files that a package's tests depend on, sorted.
func (in *inputs) files(pkg string) []string {
	found := map[string]bool{}
	own := in.packages[pkg]
	dir := in.rel(own.Dir)
	deps := slices.Concat([]string{pkg}, in.packages[pkg+".test"].Deps)
	for _, dep := range slices.Clone(deps) {
		name := strings.TrimPrefix(strings.Fields(dep)[0], modulePath) // without the variant's " [P.test]"
		for _, program := range starts[name] {
			deps = append(deps, append(in.packages[modulePath+program].Deps, modulePath+program)...)
		}
	}
	for _, dep := range deps {
		p, ok := in.packages[dep]
		if !ok || !in.inside(p.Dir) {
			continue
		}
		for _, f := range slices.Concat(p.GoFiles, p.CgoFiles, p.SFiles, p.HFiles, p.EmbedFiles) {
			if !filepath.IsAbs(f) { // as the generated main of tests is
				found[path.Join(in.rel(p.Dir), f)] = true
			}
		}
	}
	below := slices.Concat([]string{dir + "/testdata/"}, common, reads[strings.TrimPrefix(pkg, modulePath)])
	add := func(file string) {
		name := path.Base(file)
		if path.Dir(file) == dir || name == "go.mod" || name == "go.sum" || slices.ContainsFunc(below, func(b string) bool {
			return file == b || b == everything || strings.HasSuffix(b, "/") && strings.HasPrefix(file, b)
		}) {
			found[file] = true
		}
	}
	for file := range in.blobs {
		add(file)
	}
	for file := range in.dirty {
		add(file)
	}
	return slices.Sorted(maps.Keys(found))
}

// rel returns a path of the checkout from its root, with slashes.
func (in *inputs) rel(name string) string {
	rel, err := filepath.Rel(in.root, name)
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
}

// key names the state of all that a package's tests depend on, run as in the stage. It is empty
// while one of the files has uncommitted changes.
func (in *inputs) key(s *stage, pkg string) string {
	sum := sha256.New()
	fmt.Fprintln(sum, in.base, s.raced, s.env)
	for _, file := range in.files(pkg) {
		if in.dirty[file] || in.blobs[file] == "" {
			return ""
		}
		fmt.Fprintln(sum, in.blobs[file], file)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// mark is the file that says that the package passed with the key.
func (in *inputs) mark(pkg, key string) string {
	return filepath.Join(in.folder, strings.ReplaceAll(strings.TrimPrefix(pkg, modulePath), "/", ".")+"-"+key)
}

// drop removes from a stage the packages that passed with the same inputs, and returns them.
func (in *inputs) drop(s *stage) (unchanged []string) {
	s.packages = slices.DeleteFunc(slices.Clone(s.packages), func(pkg string) bool {
		key := in.key(s, pkg)
		if key == "" {
			return false
		}
		now := time.Now() // a mark in use stays
		if err := os.Chtimes(in.mark(pkg, key), now, now); err != nil {
			return false
		}
		unchanged = append(unchanged, pkg)
		return true
	})
	return unchanged
}

// keepFor is how long an unused mark is kept.
const keepFor = 60 * 24 * time.Hour

// record marks packages of a stage as passed, and removes old marks. It marks none if the checkout
// changed during the run.
func (in *inputs) record(ctx context.Context, s *stage, passed []string) error {
	blobs, dirty, err := readTree(ctx, in.root)
	if err != nil || !maps.Equal(blobs, in.blobs) || !maps.Equal(dirty, in.dirty) {
		return err
	}
	if err := os.MkdirAll(in.folder, 0o755); err != nil {
		return err
	}
	for _, pkg := range passed {
		if key := in.key(s, pkg); key != "" {
			if err := os.WriteFile(in.mark(pkg, key), nil, 0o644); err != nil {
				return err
			}
		}
	}
	marks, err := os.ReadDir(in.folder)
	if err != nil {
		return err
	}
	for _, m := range marks {
		if info, err := m.Info(); err == nil && time.Since(info.ModTime()) > keepFor {
			_ = os.Remove(filepath.Join(in.folder, m.Name())) // another run may have removed it
		}
	}
	return nil
}

// undeclared returns the files of the checkout that the tests of a package opened, by its log in
// the format of internal/testlog, and that are not among its inputs. A folder that they listed is
// returned with a slash, unless each file in it is an input.
func (in *inputs) undeclared(pkg string, log []byte) []string {
	unknown := maps.Clone(in.blobs)
	for _, file := range in.files(pkg) {
		delete(unknown, file)
	}
	folders := map[string]bool{} // with a file that is not an input
	for file := range unknown {
		folders[path.Dir(file)] = true
	}
	found := map[string]bool{}
	dir := in.packages[pkg].Dir
	for line := range bytes.Lines(log) {
		action, name, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if action == "chdir" {
			dir = name
		}
		file := in.rel(filepath.Clean(name))
		if unknown[file] != "" && (action == "open" || action == "stat") {
			found[file] = true
		}
		if folders[file] && action == "open" {
			found[file+"/"] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
