package archtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

func TestTheModuleKeepsTheRules(t *testing.T) {
	t.Parallel()
	packages, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 20 {
		t.Fatalf("only %d packages were found", len(packages))
	}
	for _, violation := range Check(packages) {
		t.Error(violation)
	}
}

func TestTheTableNamesOnlyRoomsThatExist(t *testing.T) {
	t.Parallel()
	exists := func(room string) {
		t.Helper()
		if _, err := os.Stat(filepath.Join(root, room)); err != nil {
			t.Errorf("room %s: %v", room, err)
		}
	}
	for room := range ranks {
		exists(room)
	}
	for from, targets := range edges {
		exists(from)
		for _, to := range targets {
			exists(to)
		}
	}
}

func TestEachCommandLinksTheModulesOfItsList(t *testing.T) {
	t.Parallel()
	commands, err := Commands(root)
	if err != nil || len(commands) == 0 {
		t.Fatalf("commands %q, error %v", commands, err)
	}
	for _, c := range commands {
		if err := CheckDeps(t.Context(), root, c); err != nil {
			t.Error(err)
		}
	}
}

func TestTheDocumentsNameThingsThatExist(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	docs, err := Documents(root)
	if err != nil || len(docs) == 0 {
		t.Fatalf("%d documents, error %v", len(docs), err)
	}
	for name, text := range docs {
		violations := append(CheckGoals(string(makefile), name, text), CheckLinks(root, name, text)...)
		if strings.HasPrefix(name, "docs/runbooks/") || strings.HasPrefix(name, "docs/architecture/") {
			violations = append(violations, CheckMetrics(docs["docs/reference/metrics.md"], name, text)...)
		}
		for _, violation := range violations {
			t.Error(violation)
		}
	}
}

func TestTheGuideNamesEveryFolderOfTests(t *testing.T) {
	t.Parallel()
	const guide = "docs/guides/running-the-tests.md"
	text, err := os.ReadFile(filepath.Join(root, guide))
	if err != nil {
		t.Fatal(err)
	}
	missing, err := CheckFolders(root, guide, string(text))
	if err != nil || len(missing) > 0 {
		t.Errorf("%q, %v", missing, err)
	}
	if missing, err := CheckFolders(root, guide, "`tests/e2e`"); err != nil || len(missing) < 10 {
		t.Errorf("a guide that names one folder lacks %q, %v", missing, err)
	}
}

// pkg returns a package that breaks no rule about itself.
func pkg(path string, imports ...string) Package {
	return Package{Path: path, Name: filepath.Base(path), Documented: true, Imports: imports}
}

func own(path string) string { return Module + "/" + path }

func TestEachRuleRefusesWhatBreaksIt(t *testing.T) {
	t.Parallel()
	undocumented, long, tested := pkg("internal/contract/event"), pkg("cmd/sink"), pkg("internal/pipeline/sink")
	undocumented.Documented = false
	long.MainLines = mainLines + 1
	tested.TestImports = []string{"github.com/stretchr/testify/assert", "github.com/gofiber/fiber/v2", own("internal/testkit"), own("sdk/go")}
	util := pkg("internal/contract/event/util")
	for name, tc := range map[string]struct {
		packages []Package
		want     []string // the beginning of each violation
	}{
		"no package comment":              {[]Package{undocumented}, []string{"internal/contract/event has no package comment"}},
		"a name that says nothing":        {[]Package{util}, []string{"internal/contract/event/util is named util"}},
		"a room without a rank":           {[]Package{pkg("internal/annex")}, []string{"internal/annex has no rank"}},
		"a long main":                     {[]Package{long}, []string{"cmd/sink/main.go has 61 lines"}},
		"a higher rank":                   {[]Package{pkg("internal/contract/event", own("internal/contract/record"))}, []string{"internal/contract/event imports internal/contract/record: rank 0 may not import rank 1"}},
		"the same rank without an edge":   {[]Package{pkg("internal/pipeline/sink", own("internal/pipeline/ingest"))}, []string{"internal/pipeline/sink imports internal/pipeline/ingest: packages of one rank"}},
		"an edge the wrong way round":     {[]Package{pkg("internal/tenant/website", own("internal/tenant/auth"))}, []string{"internal/tenant/website imports internal/tenant/auth: packages of one rank"}},
		"a surface that knows an adapter": {[]Package{pkg("internal/api/queryapi", own("internal/adapter/store"))}, []string{"internal/api/queryapi imports internal/adapter/store: a surface never knows an adapter"}},
		"one surface that knows another":  {[]Package{pkg("internal/api/queryapi", own("internal/api/ingestapi"))}, []string{"internal/api/queryapi imports internal/api/ingestapi: packages of one rank"}},
		"somebody below app":              {[]Package{pkg("internal/adapter/store", own("internal/app/edge"))}, []string{"internal/adapter/store imports internal/app/edge: rank 3 may not import rank 5"}},
		"one daemon that knows another":   {[]Package{pkg("internal/app/edge", own("internal/app/sink"))}, []string{"internal/app/edge imports internal/app/sink: packages of one rank"}},
		"code that needs test helpers":    {[]Package{pkg("internal/adapter/store", own("internal/testkit")), pkg("internal/adapter/kafka", own("internal/adapter/kafka/kafkatest"))}, []string{"internal/adapter/store imports internal/testkit: only tests may", "internal/adapter/kafka imports internal/adapter/kafka/kafkatest: only tests may"}},
		"files that import code":          {[]Package{pkg("schemas", own("internal/contract/event"))}, []string{"schemas imports internal/contract/event: a folder of files imports nothing of ours"}},
		"the client":                      {[]Package{pkg("cmd/millrace", own("sdk/go")), pkg("tests/e2e", own("sdk/go"))}, []string{"cmd/millrace imports sdk/go: the service never imports its client", "tests/e2e imports sdk/go: the service never imports its client"}},
		"fiber in the domain":             {[]Package{pkg("internal/pipeline/ingest", "github.com/gofiber/fiber/v2")}, []string{"internal/pipeline/ingest imports github.com/gofiber/fiber/v2: only internal/api/httpkit"}},
		"kgo in an app":                   {[]Package{pkg("internal/app/edge", "github.com/twmb/franz-go/pkg/kgo")}, []string{"internal/app/edge imports github.com/twmb/franz-go/pkg/kgo: only internal/adapter/kafka"}},
		"ch-go in the domain":             {[]Package{pkg("internal/pipeline/sink", "github.com/ClickHouse/ch-go/proto")}, []string{"internal/pipeline/sink imports github.com/ClickHouse/ch-go/proto: only internal/adapter/clickhouse"}},
		"SQL outside of the store":        {[]Package{pkg("internal/tenant/auth", "database/sql")}, []string{"internal/tenant/auth imports database/sql: only internal/adapter/store"}},
		"the standard logger":             {[]Package{pkg("internal/tenant/auth", "log", "log/slog"), pkg("tests/harness", "log")}, []string{"internal/tenant/auth imports log: nobody does", "tests/harness imports log: nobody does"}},
		"libraries in tests":              {[]Package{tested}, []string{"internal/pipeline/sink imports github.com/stretchr/testify/assert: nobody does", "internal/pipeline/sink imports github.com/gofiber/fiber/v2", "internal/pipeline/sink imports " + own("sdk/go")}},
		"the writers of exports, indirectly": {
			[]Package{pkg("cmd/sink", own("internal/adapter/clickhouse")), pkg("internal/adapter/clickhouse", own("internal/analytics/export/download")), pkg("internal/analytics/export/download")},
			[]string{"the writers of exports are reachable by cmd/sink → internal/adapter/clickhouse → internal/analytics/export/download", "the writers of exports are reachable by internal/adapter/clickhouse →"},
		},
		"the embedded servers, indirectly": {
			[]Package{pkg("internal/app/edge", own("internal/app/daemon")), pkg("internal/app/daemon", own("internal/adapter/embedded/broker")), pkg("internal/adapter/embedded/broker")},
			[]string{"the embedded servers are reachable by internal/app/daemon →", "the embedded servers are reachable by internal/app/edge → internal/app/daemon → internal/adapter/embedded/broker"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Check(tc.packages)
			if len(got) != len(tc.want) {
				t.Fatalf("violations %q, want %q", got, tc.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], tc.want[i]) {
					t.Errorf("violation %q, want %q", got[i], tc.want[i])
				}
			}
		})
	}
}

func TestTheRulesAllowWhatTheyShould(t *testing.T) {
	t.Parallel()
	main := pkg("cmd/millrace", own("internal/app/standalone"), "github.com/spf13/cobra")
	main.MainLines = mainLines
	tested := pkg("internal/app/edge", own("internal/app/daemon"), own("internal/adapter/store"), own("internal/api/ingestapi"))
	tested.TestImports = []string{own("internal/adapter/embedded/broker"), own("internal/testkit")}
	for _, violation := range Check([]Package{
		main,
		tested,
		pkg("internal/app/standalone", own("internal/app/edge"), own("internal/adapter/embedded/broker")),
		pkg("internal/app/daemon", own("internal/platform/telemetry")),
		pkg("internal/adapter/embedded/broker", own("internal/adapter/embedded/filelock"), "github.com/twmb/franz-go/pkg/kfake"),
		pkg("internal/adapter/embedded/filelock"),
		pkg("internal/adapter/store", own("schemas/sql"), "database/sql", own("internal/tenant/auth")),
		pkg("internal/tenant/auth", own("internal/tenant/apikey"), own("internal/contract/fault"), "log/slog"),
		pkg("internal/adapter/kafka/kafkatest", own("internal/testkit"), own("internal/adapter/kafka")),
		pkg("schemas/sql", "embed"),
		pkg("tests/e2e", own("internal/adapter/embedded/chserver"), "github.com/twmb/franz-go/pkg/kgo"),
		pkg("tools/docgen", own("internal/analytics")),
	}) {
		t.Error(violation)
	}
}

func TestLoadReadsPackagesOfThisModuleOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, src := range map[string]string{
		"a/a.go":             "// Package a is documented.\npackage a\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n",
		"a/b.go":             "package a\n",
		"a/a_test.go":        "package a_test\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n",
		"b/main.go":          "//go:build linux\n\npackage main\n\nfunc main() {\n}\n",
		"a/testdata/x.go":    "not Go",
		".cache/x.go":        "not Go",
		"sdk/go/go.mod":      "module x\n",
		"sdk/go/x.go":        "package x\n",
		"node_modules/x.go":  "not Go",
		"documents/other.md": "# Title\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []Package{
		{Path: "a", Name: "a", Documented: true, Imports: []string{"fmt", "os"}, TestImports: []string{"testing"}},
		{Path: "b", Name: "main", MainLines: 6},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
}

func TestGoalsAndLinksThatDoNotExistAreFound(t *testing.T) {
	t.Parallel()
	const doc = "Call `make run`, then `make dance`. We make sense.\n\n    make test-short\n\n```\n$ make sing\n```\n"
	got := CheckGoals("run: build ## Run\ntest-short:\n", "README.md", doc)
	if diff := cmp.Diff([]string{"README.md says make dance, which is no goal", "README.md says make sing, which is no goal"}, got); diff != "" {
		t.Errorf("goals (-want +got):\n%s", diff)
	}
	const links = "# Where: it_is, now\n[a](docs/adr/README.md#decisions) [b](docs/none.md) [c](https://example.com/x#y) [d](#where-it_is-now)\n" +
		"[e](docs/adr/README.md#none) [f](#here)"
	if diff := cmp.Diff([]string{
		"README.md links to docs/none.md, which does not exist",
		"README.md links to docs/adr/README.md#none, which is no heading",
		"README.md links to #here, which is no heading",
	}, CheckLinks(root, "README.md", links)); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
}

func TestMetricsThatDoNotExistAreFound(t *testing.T) {
	t.Parallel()
	got := CheckMetrics("| `millrace_sink_lag_seconds` | Age |\n", "a.md", "`max(millrace_sink_lag_seconds)`, `millrace_sink_lag`, `millrace_sink_lag`")
	if diff := cmp.Diff([]string{"a.md names millrace_sink_lag, which is no metric"}, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestAListOfModulesThatDiffersSaysHow(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ got, want, says string }{
		"equal":      {"a\nb\n", "a\nb\n", ""},
		"one more":   {"a\n", "a\nb\n", "cmd/x now links b"},
		"one less":   {"a\nb\n", "b\n", "cmd/x no longer links a"},
		"not sorted": {"b\na\n", "a\nb\n", "cmd/x is not sorted"},
	} {
		err := compareLists("cmd/x", tc.got, tc.want)
		if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.says)) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
}

// required returns the versions of the modules that the go.mod at path names.
func required(t *testing.T, path string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", path)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	type module struct{ Path, Version string }
	var file struct {
		Require []module
		Replace []struct{ Old, New module }
	}
	if err := json.Unmarshal(out, &file); err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, r := range file.Require {
		versions[r.Path] = r.Version
	}
	for _, r := range file.Replace {
		if _, there := versions[r.Old.Path]; there {
			versions[r.Old.Path] = r.New.Version
		}
	}
	return versions
}

// What several modules import would be compiled once for each version of it, which is
// most of what the tests cost on a new machine.
func TestTheModulesOfTestsShareTheVersionsOfWhatTheyImport(t *testing.T) {
	t.Parallel()
	var files []string
	for _, folder := range []string{"tests", "tools"} {
		found, err := filepath.Glob(filepath.Join(root, folder, "*", "go.mod"))
		if err != nil || len(found) == 0 {
			t.Fatalf("the modules of %s are %v, error %v", folder, found, err)
		}
		files = append(files, found...)
	}
	versions, shared := required(t, filepath.Join(root, "go.mod")), 0
	for _, file := range files {
		for module, version := range required(t, file) {
			other, known := versions[module]
			if known && other != version {
				t.Errorf("%s requires %s %s, and another module %s: run go get %[2]s@VERSION and go mod tidy in one of them", file, module, version, other)
			} else if known {
				shared++
			}
			versions[module] = version
		}
	}
	if shared == 0 {
		t.Error("nothing is shared; the test shows nothing")
	}
}
