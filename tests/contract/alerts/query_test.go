package alerts

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

// outside are the metrics of others: Prometheus' own, and those of the cluster in
// which an installation may run.
var outside = []string{
	"ALERTS",
	"kube_horizontalpodautoscaler_spec_max_replicas", "kube_horizontalpodautoscaler_status_current_replicas",
}

// promql reads queries as a Prometheus without feature flags does.
var promql = parser.NewParser(parser.Options{})

// variables puts something in place of what Grafana would.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$instance", "x", "$namespace", ".*")

// exported is what the reference lists, beside the runtime's own, which begin with
// go_ and process_.
func exported(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(root + "/docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\|").FindAllStringSubmatch(string(text), -1) {
		kinds[row[1]] = row[2]
	}
	return kinds
}

func TestEachQueryIsOneAndAsksForMetricsThatThereAre(t *testing.T) {
	t.Parallel()
	kinds, rules := exported(t), allRules(t)
	recorded := map[string]bool{}
	for _, r := range rules {
		recorded[r.Record] = true
	}
	for where, expr := range allQueries(t, rules) {
		for _, name := range metricsOf(t, where, expr) {
			if !known(name, kinds) && !recorded[name] && !slices.Contains(outside, name) {
				t.Errorf("%s asks for %s, which nothing exports: %s", where, name, expr)
			}
		}
	}
}

// Several installations are told apart by the namespace that they are in.
func TestDashboardsAskForTheChosenNamespaces(t *testing.T) {
	t.Parallel()
	for file, b := range allBoards(t) {
		if v := b.Templating.List; len(v) < 2 || v[1].Name != "namespace" {
			t.Errorf("%s: its second variable is not the namespace: %+v", file, v)
		}
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				parsed, err := promql.ParseExpr(variables.Replace(q.Expr))
				if err != nil {
					t.Errorf("%s, %s: %v: %s", file, p.Title, err, q.Expr)
					continue
				}
				parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
					if s, ok := n.(*parser.VectorSelector); ok && !strings.Contains(s.String(), `namespace=~".*"`) {
						t.Errorf("%s, %s: %s is of all namespaces", file, p.Title, s)
					}
					if b, ok := n.(*parser.BinaryExpr); ok && confuses(b) {
						t.Errorf("%s, %s: series of several namespaces match each other in %s", file, p.Title, b)
					}
					return nil
				})
			}
		}
	}
}

// confuses reports whether an operator finds several series of the same labels where two installations are
// watched: an instance is of one, and what is added up before is there once.
func confuses(b *parser.BinaryExpr) bool {
	m, right := b.VectorMatching, b.RHS
	if inner, ok := right.(*parser.ParenExpr); ok {
		right = inner.Expr
	}
	_, plain := right.(*parser.VectorSelector)
	return plain && m != nil && m.On && !slices.Contains(m.MatchingLabels, "namespace") &&
		!slices.Contains(m.MatchingLabels, "instance")
}

// allQueries returns every expression of rules and dashboards by where it stands.
func allQueries(t *testing.T, rules []rule) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, r := range rules {
		all["rule "+r.Alert+r.Record+" "+r.Labels["slo"]] = r.Expr
	}
	for file, b := range allBoards(t) {
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				all[file+" "+p.Title+" "+q.LegendFormat] = variables.Replace(q.Expr)
			}
		}
	}
	return all
}

// metricsOf parses an expression and returns the metrics that it names.
func metricsOf(t *testing.T, where, expr string) []string {
	t.Helper()
	parsed, err := promql.ParseExpr(expr)
	if err != nil {
		t.Errorf("%s: %v: %s", where, err, expr)
		return nil
	}
	names := map[string]bool{}
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			for _, m := range s.LabelMatchers {
				if m.Name == model.MetricNameLabel {
					names[m.Value] = true
				}
			}
		}
		return nil
	})
	return slices.Sorted(maps.Keys(names))
}

// known reports whether a daemon exports a series of the name: histograms have
// three of them.
func known(name string, kinds map[string]string) bool {
	if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") ||
		kinds[name] != "" && kinds[name] != "histogram" {
		return true
	}
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && kinds[base] == "histogram" {
			return true
		}
	}
	return false
}
