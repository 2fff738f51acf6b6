package main

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/millrace/millrace/internal/testkit"
)

var here = sync.OnceValues(func() (*sources, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	return readSources(context.Background(), root)
})

// ours returns the packages of this checkout.
func ours(t *testing.T) *sources {
	t.Helper()
	src, err := here()
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestPlan_HasEveryPackageOnce(t *testing.T) {
	t.Parallel()
	src := ours(t)
	for _, full := range []bool{false, true} {
		in := map[string]int{}
		for _, s := range plan(src, full) {
			if s.name != "processes raced" {
				for _, p := range s.packages {
					in[p]++
				}
			}
		}
		for dir, all := range src.tested {
			if dir == "" && len(all) < 50 {
				t.Errorf("%d packages", len(all))
			}
			for _, p := range all {
				if in[p] != 1 {
					t.Errorf("full %v: %s is in %d stages", full, p, in[p])
				}
			}
		}
	}
	for _, folder := range slices.Concat(processes, promises, raced) {
		if _, err := os.Stat("../../" + strings.TrimSuffix(folder, "/...")); err != nil {
			t.Errorf("plan.go lists a folder that does not exist: %v", err)
		}
	}
}

func TestPlan_RunsPromisesAlone(t *testing.T) {
	t.Parallel()
	found := 0
	for _, folder := range slices.Concat(processes, promises) {
		err := filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if bytes.Contains(text, []byte("testkit."+"Promised(")) {
				found++
				if !slices.Contains(promises, folder) {
					t.Errorf("%s asserts a promise, and %s is not in promises", path, folder)
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if found < len(promises) {
		t.Errorf("%d files assert promises, in %d folders", found, len(promises))
	}
}

func TestPlan_RacesPackagesThatStartGoroutines(t *testing.T) {
	t.Parallel()
	src := ours(t)
	for _, s := range plan(src, false) {
		if s.name != "in process" {
			continue
		}
		for _, pkg := range s.packages {
			if !strings.HasPrefix(pkg, modulePath+"internal/") { // tools and tests are no product
				continue
			}
			p := src.packages[pkg]
			for _, file := range p.GoFiles {
				if line := startsGoroutine(t, filepath.Join(p.Dir, file)); line != "" {
					t.Errorf("%s starts a goroutine, and its folder is not in raced", line)
				}
			}
		}
	}
}

// startsGoroutine returns the place of the first go statement, or call of a method Go, as of
// sync.WaitGroup and errgroup.Group.
func startsGoroutine(t *testing.T, file string) (place string) {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		starts := false
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.CallExpr:
			method, ok := n.Fun.(*ast.SelectorExpr)
			starts = ok && method.Sel.Name == "Go"
		}
		if starts && place == "" {
			place = set.Position(n.Pos()).String()
		}
		return place == ""
	})
	return place
}

// Each promise is asserted without slack by the full run, by one package at a time.
func TestPlan_AssertsPromisesWithoutSlackWhenFull(t *testing.T) {
	t.Parallel()
	for _, s := range plan(ours(t), true) {
		strict := slices.Contains(s.env, testkit.SlackEnv+"=1")
		if strict == (s.name == "processes raced") || s.rerun || !s.serial || s.beside {
			t.Errorf("%+v", s)
		}
	}
}

// Otherwise the linter compiles Kubernetes' modules once more, which takes a minute.
func TestMakefile_CompilesKubernetesAsTheTestsDo(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	name, value, _ := strings.Cut(testkit.Unoptimized, "=")
	if want := fmt.Sprintf("UNOPTIMIZED := %s='%s'\n", name, value); !strings.Contains(string(makefile), want) {
		t.Errorf("the Makefile has no line %q", want)
	}
}

func TestChoose_TakesPartsOfNames(t *testing.T) {
	t.Parallel()
	stages := plan(ours(t), false)
	got, err := choice{packages: "tests/system/e2e,internal/contract/event", times: 3}.choose(stages)
	if err != nil || len(got) != 2 {
		t.Fatalf("%d stages, %v", len(got), err)
	}
	for i, want := range []string{modulePath + "internal/contract/event", modulePath + "tests/system/e2e"} {
		if s := got[i]; !slices.Contains(s.packages, want) || len(s.packages) > 3 || s.count != 3 || s.rerun {
			t.Errorf("stage %q has %v, %d times, reruns %v", s.name, s.packages, s.count, s.rerun)
		}
	}
	if got, err := (choice{only: "processes", packages: "internal/contract/event"}).choose(stages); err == nil {
		t.Errorf("nothing to run is %v and no error", got)
	}
}
