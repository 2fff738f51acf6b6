package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
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
	client, err := clientMetrics()
	if err != nil {
		return "", err
	}
	d := newDocument("Metrics", "the declarations in the source")
	d.paragraph("Each daemon serves its metrics at `/metrics` of the admin listener (`admin.listen`). It also\n" +
		"exports the metrics of the Go runtime (`go_…`) and of the process (`process_…`). Metrics of\n" +
		"the HTTP hosts also have the label `host`, those of Kafka clients the label `client`.")
	d.heading("The service")
	metricsTable(d, metrics)
	d.heading("The Kafka client")
	d.paragraph("The client library exports these for each Kafka client of a daemon. The texts are the library's.")
	metricsTable(d, client)
	return d.String(), nil
}

func metricsTable(d *document, metrics []metric) {
	var rows [][]string
	for _, m := range metrics {
		rows = append(rows, []string{code(m.name), m.kind, codes(m.labels), m.help})
	}
	d.table([]string{"Metric", "Type", "Labels", "Meaning"}, rows)
}

// described is how a description shows itself; it has no other way.
var described = regexp.MustCompile(`^Desc\{fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*"),(?: unit: "",)? constLabels: \{.*\}, variableLabels: \{(.*)\}\}$`)

// clientMetrics asks a client of ours what it registers.
func clientMetrics() ([]metric, error) {
	descs, err := kafkaClientDescs()
	if err != nil {
		return nil, fmt.Errorf("asking the Kafka client: %w", err)
	}
	var metrics []metric
	for _, d := range descs {
		parts := described.FindStringSubmatch(d.String())
		if parts == nil {
			return nil, fmt.Errorf("a description is not understood: %s", d)
		}
		name, err := strconv.Unquote(parts[1])
		help, err2 := strconv.Unquote(parts[2])
		if err := errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("reading %s: %w", d, err)
		}
		m := metric{name: name, kind: clientKind(name), help: help}
		if parts[3] != "" {
			m.labels = slices.Sorted(strings.SplitSeq(parts[3], ",")) // which the client keeps in no order
		}
		metrics = append(metrics, m)
	}
	slices.SortFunc(metrics, func(a, b metric) int { return cmp.Compare(a.name, b.name) })
	return metrics, nil
}

// clientKind follows the client library's own convention, as a description does
// not say it: what is buffered goes up and down, times are distributions.
func clientKind(name string) string {
	switch {
	case strings.Contains(name, "_buffered_"):
		return "gauge"
	case strings.HasSuffix(name, "_seconds"):
		return "histogram"
	}
	return kindOf(name)
}

// kindOf tells a counter from a gauge where only a name is there; a test holds
// names to the convention.
func kindOf(name string) string {
	if strings.HasSuffix(name, "_total") {
		return "counter"
	}
	return "gauge"
}

// findMetrics reads every declaration below dir, sorted by name.
func findMetrics(dir string) ([]metric, error) {
	packages := map[string][]*ast.File{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parsing: %w", err)
		}
		packages[filepath.Dir(path)] = append(packages[filepath.Dir(path)], file)
		return nil
	})
	var metrics []metric
	for _, path := range slices.Sorted(maps.Keys(packages)) { // always in the same order
		found, problem := metricsOf(packages[path]...)
		if problem != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", path, problem))
		}
		metrics = append(metrics, found...)
	}
	slices.SortStableFunc(metrics, func(a, b metric) int { return cmp.Compare(a.name, b.name) })
	return metrics, err
}

// metricsOf finds, in the files of one package, the calls whose first argument is
// a literal of one of Prometheus' option structs, such as
// NewCounterVec(prometheus.CounterOpts{…}, labels), and those of
// prometheus.NewDesc(name, help, labels, nil). What it cannot read is an error,
// so that no metric is left out.
func metricsOf(files ...*ast.File) ([]metric, error) {
	lists, makers := listsOf(files), makersOf(files)
	var metrics []metric
	var errs []error
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			m, labels, ok := makers.declared(call)
			if !ok {
				return true
			}
			if m.name == "" || m.help == "" {
				errs = append(errs, fmt.Errorf("a %s whose name or help is no literal", m.kind))
				return true
			}
			if labels != nil {
				if m.labels, ok = lists.texts(labels); !ok {
					errs = append(errs, fmt.Errorf("%s: its labels are neither a literal nor a variable of the package", m.name))
				}
			}
			metrics = append(metrics, m)
			return true
		})
	}
	return metrics, errors.Join(errs...)
}

// makers are the local functions that make a metric of a name and a help, such as
// gauge := func(name, help string) prometheus.Gauge { … }.
type makers struct {
	kinds map[string]string // by the variable that holds the function
	inner map[*ast.CallExpr]bool
}

func makersOf(files []*ast.File) makers {
	found := makers{kinds: map[string]string{}, inner: map[*ast.CallExpr]bool{}}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if assign, ok := n.(*ast.AssignStmt); ok && len(assign.Lhs) == 1 && len(assign.Rhs) == 1 {
				variable, named := assign.Lhs[0].(*ast.Ident)
				function, made := assign.Rhs[0].(*ast.FuncLit)
				if named && made {
					found.add(variable.Name, function)
				}
			}
			return true
		})
	}
	return found
}

func (m makers) add(name string, function *ast.FuncLit) {
	ast.Inspect(function.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return true
		}
		kind, opts := optionsOf(call.Args[0])
		if opts != nil && variable(opts, "Name") == "name" && variable(opts, "Help") == "help" {
			m.kinds[name], m.inner[call] = kind, true
		}
		return true
	})
}

// declared reads a call that declares a metric; labels is nil where it has none.
func (m makers) declared(call *ast.CallExpr) (found metric, labels ast.Expr, ok bool) {
	kind, opts := optionsOf(call.Args[0])
	function, plain := call.Fun.(*ast.Ident)
	switch {
	case m.inner[call]:
		return metric{}, nil, false
	case opts != nil:
		if len(call.Args) > 1 && strings.HasSuffix(called(call), "Vec") {
			labels = call.Args[1]
		}
		return metric{kind: kind, name: field(opts, "Name"), help: field(opts, "Help")}, labels, true
	case plain && m.kinds[function.Name] != "" && len(call.Args) == 2:
		return metric{kind: m.kinds[function.Name], name: text(call.Args[0]), help: text(call.Args[1])}, nil, true
	case called(call) == "NewDesc" && len(call.Args) > 2:
		name := text(call.Args[0])
		return metric{kind: kindOf(name), name: name, help: text(call.Args[1])}, call.Args[2], true
	}
	return metric{}, nil, false
}

// called is the name of the function or method of a call.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

// lists are the variables of a package that hold lists of texts.
type lists map[string]ast.Expr

func listsOf(files []*ast.File) lists {
	found := lists{}
	for _, file := range files {
		for _, d := range file.Decls {
			declaration, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range declaration.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
					found[v.Names[0].Name] = v.Values[0]
				}
			}
		}
	}
	return found
}

// texts evaluates a list: a literal, a variable of the package, or nil.
func (l lists) texts(e ast.Expr) (list []string, ok bool) {
	if name, isName := e.(*ast.Ident); isName {
		if name.Name == "nil" {
			return nil, true
		}
		e = l[name.Name]
	}
	lit, ok := e.(*ast.CompositeLit)
	if !ok {
		return nil, false
	}
	for _, el := range lit.Elts {
		t := text(el)
		if t == "" {
			return nil, false
		}
		list = append(list, t)
	}
	return list, true
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

// field evaluates a text of a struct literal; "" where it is none.
func field(lit *ast.CompositeLit, name string) string { return text(element(lit, name)) }

// variable is the name of the variable that a struct literal's field is set to.
func variable(lit *ast.CompositeLit, name string) string {
	if v, ok := element(lit, name).(*ast.Ident); ok {
		return v.Name
	}
	return ""
}

func element(lit *ast.CompositeLit, name string) ast.Expr {
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := kv.Key.(*ast.Ident); ok && key.Name == name {
			return kv.Value
		}
	}
	return nil
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
