package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/platform/config"
)

const root = "../.."

func TestTheReferenceIsUpToDate(t *testing.T) {
	t.Parallel()
	if err := run(root, true); err != nil {
		t.Error(err)
	}
}

func TestCheckFindsAPageThatDiffersOrIsMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "config.md")
	if err := compare(path, "x"); err == nil {
		t.Error("a missing page passes")
	}
	if err := os.WriteFile(path, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := compare(path, "x"); err == nil {
		t.Error("a page that differs passes")
	}
	if err := compare(path, "x\n"); err != nil {
		t.Error(err)
	}
}

func TestTheReferenceNamesEverySettingAndNoDefaultSecret(t *testing.T) {
	t.Parallel()
	text, err := configPage(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range config.Fields() {
		if !strings.Contains(text, "| `"+f.Key+"`<br>`"+f.Env+"` |") {
			t.Errorf("no row for %s", f.Key)
		}
		if f.Secret && f.Default != "" {
			t.Errorf("%s: a secret has a default", f.Key)
		}
	}
}

func TestMetricsAreReadFromTheSource(t *testing.T) {
	t.Parallel()
	parse := func(src string) ([]metric, error) {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nvar _ = "+src, 0)
		if err != nil {
			t.Fatal(err)
		}
		return metricsOf(file)
	}
	got, err := parse(
		"f.NewCounterVec(prometheus.CounterOpts{Name: \"a_total\", Help: \"One \" +\n`two.`}, []string{\"x\", \"y\"})")
	if err != nil {
		t.Fatal(err)
	}
	want := []metric{{name: "a_total", kind: "counter", help: "One two.", labels: []string{"x", "y"}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(metric{})); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if _, err := parse("f.NewGauge(prometheus.GaugeOpts{Name: name, Help: \"x\"})"); err == nil {
		t.Error("a metric without a literal name passes")
	}
	got, err = parse("prometheus.NewDesc(\"a\", \"One.\", both, nil)\nvar both = []string{\"x\", \"y\"}")
	want = []metric{{name: "a", kind: "gauge", help: "One.", labels: []string{"x", "y"}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(metric{})); diff != "" || err != nil {
		t.Errorf("a description (-want +got), %v:\n%s", err, diff)
	}
	got, err = parse("0\nfunc f() {\ngauge := func(name, help string) prometheus.Gauge { return " +
		"f.NewGauge(prometheus.GaugeOpts{Name: name, Help: help}) }\ngauge(\"a\", \"One.\")\n}")
	want = []metric{{name: "a", kind: "gauge", help: "One."}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(metric{})); diff != "" || err != nil {
		t.Errorf("a function that makes them (-want +got), %v:\n%s", err, diff)
	}
	if _, err := parse("prometheus.NewDesc(\"a\", \"One.\", elsewhere(), nil)"); err == nil {
		t.Error("labels that cannot be read pass")
	}
	if got, err := parse("f.Other(other.CounterOpts{Name: name})"); err != nil || got != nil {
		t.Errorf("another package's options: %v, %v", got, err)
	}
}

func TestEveryMetricIsNamedByTheConvention(t *testing.T) {
	t.Parallel()
	metrics, err := findMetrics(filepath.Join(root, "internal"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range metrics {
		if !strings.HasPrefix(m.name, "millrace_") || !strings.HasSuffix(m.help, ".") {
			t.Errorf("%s: want a name of millrace_<package>_<what>_<unit> and a sentence, got %q", m.name, m.help)
		}
		if (m.kind == "counter") != strings.HasSuffix(m.name, "_total") {
			t.Errorf("%s: a name ends in _total exactly if it is a counter's", m.name)
		}
		if seen[m.name] {
			t.Errorf("%s is declared twice", m.name)
		}
		seen[m.name] = true
	}
}

func TestTheKafkaClientsMetricsAreListed(t *testing.T) {
	t.Parallel()
	metrics, err := clientMetrics()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{}
	for _, m := range metrics {
		labels[m.name] = m.labels
	}
	if diff := cmp.Diff([]string{"node_id"}, labels["millrace_kafka_connects_total"]); diff != "" {
		t.Errorf("labels of connects (-want +got):\n%s\nthere are %v", diff, labels)
	}
}

func TestCellsEscapeTheirBars(t *testing.T) {
	t.Parallel()
	d := newDocument("T", "x")
	d.table([]string{"a", "b"}, [][]string{{"x|y", ""}})
	if want := "\n| a | b |\n|---|---|\n| x\\|y |  |\n"; !strings.HasSuffix(d.String(), want) {
		t.Errorf("table %q, want %q at the end", d.String(), want)
	}
}

func TestBoundsAreReadable(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "", 7: "7", 256: "256", 2048: "2,048", 2097152: "2,097,152"} {
		if got := bound(n); got != want {
			t.Errorf("bound(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestSubcommandsAreReadFromAHelpText(t *testing.T) {
	t.Parallel()
	const help = "Does x.\n\nUsage:\n  x [command]\n\nAvailable Commands:\n  create      Make\n  help        Help " +
		"about any command\n  log-in-once Enter\n\nFlags:\n  -h, --help  help for x\n"
	if diff := cmp.Diff([]string{"create", "log-in-once"}, subcommands(help)); diff != "" {
		t.Errorf("subcommands (-want +got):\n%s", diff)
	}
	if got := subcommands("Usage:\n  x [flags]\n"); got != nil {
		t.Errorf("subcommands %q of a command without any", got)
	}
}
