package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// metric is one declaration found in the source.
type metric struct {
	name, kind, help string
	labels           []string
}

func metricsPage(root string) (string, error) {
	metrics, err := findMetrics(filepath.Join(root, "internal"))
	if err != nil {
		return "", err
	}
	d := newDocument("Metrics", "the declarations in `internal/*/metrics.go`")
	d.paragraph("Each daemon serves its metrics at `/metrics` of the admin listener\n" +
		"(`MILLRACE_ADMIN_LISTEN`). Beside those below there are those of the Go runtime\n" +
		"(`go_…`), of the process (`process_…`) and of the Kafka client. Those of the HTTP\n" +
		"hosts also carry the label `host`, those of Kafka clients the label `client`.")
	var rows [][]string
	for _, m := range metrics {
		rows = append(rows, []string{code(m.name), m.kind, codes(m.labels), m.help})
	}
	d.table([]string{"Metric", "Type", "Labels", "Meaning"}, rows)
	return d.String(), nil
}

// findMetrics reads every declaration below dir, sorted by name.
func findMetrics(dir string) ([]metric, error) {
	var metrics []metric
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parsing: %w", err)
		}
		found, err := metricsOf(file)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		metrics = append(metrics, found...)
		return nil
	})
	slices.SortFunc(metrics, func(a, b metric) int { return cmp.Compare(a.name, b.name) })
	return metrics, err
}

// metricsOf finds the calls whose first argument is a literal of one of
// Prometheus' option structs: NewCounterVec(prometheus.CounterOpts{…}, labels).
func metricsOf(file *ast.File) ([]metric, error) {
	var metrics []metric
	var errs []error
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		kind, opts := optionsOf(call.Args[0])
		if opts == nil {
			return true
		}
		m := metric{kind: kind, name: field(opts, "Name"), help: field(opts, "Help")}
		if m.name == "" || m.help == "" {
			errs = append(errs, fmt.Errorf("a %s whose name or help is no literal", kind))
			return true
		}
		if len(call.Args) > 1 {
			m.labels = texts(call.Args[1])
		}
		metrics = append(metrics, m)
		return true
	})
	return metrics, errors.Join(errs...)
}

func optionsOf(e ast.Expr) (kind string, opts *ast.CompositeLit) {
	lit, ok := e.(*ast.CompositeLit)
	if !ok {
		return "", nil
	}
	sel, ok := lit.Type.(*ast.SelectorExpr)
	if !ok {
		return "", nil
	}
	kind, isOpts := strings.CutSuffix(sel.Sel.Name, "Opts")
	if pkg, ok := sel.X.(*ast.Ident); !ok || pkg.Name != "prometheus" || !isOpts {
		return "", nil
	}
	return strings.ToLower(kind), lit
}

func field(lit *ast.CompositeLit, name string) string {
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := kv.Key.(*ast.Ident); ok && key.Name == name {
			return text(kv.Value)
		}
	}
	return ""
}

// text evaluates a string literal or a sum of some; "" for anything else.
func text(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(x.Value)
		if err != nil {
			return ""
		}
		return s
	case *ast.BinaryExpr:
		return text(x.X) + text(x.Y)
	}
	return ""
}

func texts(e ast.Expr) []string {
	lit, ok := e.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	var out []string
	for _, el := range lit.Elts {
		out = append(out, text(el))
	}
	return out
}
