package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit"
)

// events writes what go test -json would, of lines "ACTION PACKAGE TEST OUTPUT".
func events(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		f := append(strings.SplitN(line, " ", 4), "", "", "")
		fmt.Fprintf(&b, "{\"Action\":%q,\"Package\":%q,\"Test\":%q,\"Output\":%q}\n", f[0], f[1], f[2], f[3])
	}
	return b.String()
}

func names(list []tested) []string {
	var out []string
	for _, t := range list {
		out = append(out, t.String())
	}
	return out
}

func TestWhatFailedIsToldFromWhatFailedOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		events        string
		failed, flaky []string
	}{
		"all pass": {events("run p TestA", "pass p TestA", "pass p"), nil, nil},
		"one fails, in a part of it": {
			events("fail p TestA/b/c", "fail p TestA/b", "pass p TestA/d", "fail p TestA", "fail p"),
			[]string{"p\tTestA/b/c"},
			nil,
		},
		"one passes when run once more": {
			events("fail p TestA/b", "fail p TestA", "pass p TestC", "fail p", "pass p TestA/b", "pass p TestA", "pass p"),
			nil,
			[]string{"p\tTestA/b"},
		},
		"one fails twice, another only once": {
			events("fail p TestA", "fail q TestB", "fail p", "fail q", "pass p TestA", "pass p", "fail q TestB", "fail q"),
			[]string{"q\tTestB"},
			[]string{"p\tTestA"},
		},
		"one that hung, with its package": {
			events("run p TestA", "run p TestB", "pass p TestB", "fail p"), []string{"p"}, nil,
		},
		"a package that does not build": {events("output p  no such thing", "fail p"), []string{"p"}, nil},
		"a package whose TestMain failed, and passed when run once more": {
			events("pass p TestA", "fail p", "pass p TestA", "pass p"), []string{"p"}, nil,
		},
		"a package whose TestMain failed after one of its tests had, in another run": {
			events("fail p TestA", "fail p", "pass p TestA", "fail p", "pass p TestA", "pass p"),
			[]string{"p"},
			[]string{"p\tTestA"},
		},
		"a test that is left out": {events("skip p TestA", "pass p"), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := judge(strings.NewReader(tc.events))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.failed, names(got.failed)); diff != "" {
				t.Errorf("failed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.flaky, names(got.flaky)); diff != "" {
				t.Errorf("flaky (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBothRunsOfAFlakyTestAreKept(t *testing.T) {
	t.Parallel()
	got, err := judge(strings.NewReader(events(
		"output p TestA/b too late", "fail p TestA/b", "fail p TestA", "fail p",
		"output p TestA/b in time", "pass p TestA/b", "pass p TestA", "pass p",
	)))
	if err != nil || len(got.flaky) != 1 {
		t.Fatalf("flaky is %v, error %v", got.flaky, err)
	}
	var out strings.Builder
	if err := conclude([]outcome{got}, t.TempDir(), &out); err != nil {
		t.Errorf("a run of which each test passed in the end is red: %v", err)
	}
	told := strings.Split(strings.TrimSpace(out.String()), "\t")
	if told[0] != "FLAKY" || told[1] != "p" || told[2] != "TestA/b" {
		t.Fatalf("told is %q", told)
	}
	kept, err := os.ReadFile(told[3])
	if err != nil || !strings.Contains(string(kept), "too late") || !strings.Contains(string(kept), "in time") {
		t.Errorf("kept is %q, %v", kept, err)
	}
}

func TestARedRunEndsWithTheNamesOfWhatFailed(t *testing.T) {
	t.Parallel()
	got, err := judge(strings.NewReader(events("output p TestA noise", "fail p TestA", "fail p")))
	if err != nil {
		t.Fatal(err)
	}
	got.stage, got.red = "in process", true
	var out strings.Builder
	if err := conclude([]outcome{got, {stage: "processes", red: true}}, t.TempDir(), &out); !errors.Is(err, errRed) {
		t.Errorf("the error is %v", err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if err := conclude([]outcome{{failed: got.failed}}, t.TempDir(), io.Discard); !errors.Is(err, errRed) {
		t.Errorf("where go test's exit says that all is well, the error is %v", err)
	}
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "FAIL\tp\tTestA\t") ||
		!strings.HasPrefix(lines[1], "FAIL\tprocesses") {
		t.Errorf("the last lines are %q", lines)
	}
}

func TestEveryTestIsInOneTier(t *testing.T) {
	t.Parallel()
	for _, full := range []bool{false, true} {
		stages, err := plan(t.Context(), "../..", full)
		if err != nil {
			t.Fatal(err)
		}
		all, err := list(t.Context(), "../..")
		if err != nil || len(all) < 50 {
			t.Fatalf("%d packages, %v", len(all), err)
		}
		in := map[string]int{}
		for _, s := range stages {
			if s.dir == "" && !strings.HasSuffix(s.name, "raced") {
				for _, p := range s.packages {
					in[p]++
				}
			}
		}
		for _, p := range all {
			if in[p] != 1 {
				t.Errorf("full %v: %s is in %d stages", full, p, in[p])
			}
		}
	}
	for _, folder := range processes {
		if _, err := os.Stat("../../" + folder); err != nil {
			t.Errorf("the processes tier lists what is not there: %v", err)
		}
	}
}

// Whose clock runs against a promise has no other package beside it.
func TestPackagesThatAssertPromisesRunAlone(t *testing.T) {
	t.Parallel()
	found := 0
	for _, folder := range processes {
		err := filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if bytes.Contains(text, []byte("testkit."+"Promised(")) {
				found++
				if !slices.Contains(alone, folder) {
					t.Errorf("%s asserts a promise, and %s does not run alone", path, folder)
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if found < len(alone) {
		t.Errorf("%d files assert promises, of %d packages that run alone", found, len(alone))
	}
}

// What is promised has to be asserted somewhere as it was promised: once with nothing
// beside it, by each package.
func TestTheFullRunAssertsEveryPromiseAsItWasGiven(t *testing.T) {
	t.Parallel()
	stages, err := plan(t.Context(), "../..", true)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stages {
		raced := strings.HasSuffix(s.name, " raced")
		if strict := slices.Contains(s.env, "MILLRACE_TEST_SLACK=1"); strict == raced || s.rerun || (strict && !s.serial) {
			t.Errorf("%s: strict %v, run again %v, one package at a time %v", s.name, strict, s.rerun, s.serial)
		}
	}
}

// Modules run beside the processes where both were asked for, and in a full run never.
func TestModulesRunBesideTheProcesses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		choice
		first, later int
	}{
		{choice{times: 1}, 2, len(modules)},
		{choice{times: 1, only: "module"}, len(modules), 0},
		{choice{times: 1, only: "processes"}, 1, 0},
		{choice{times: 1, full: true}, 3 + len(modules), 0},
		{choice{times: 1, full: true, only: "processes"}, 1, 0},
		{choice{times: 1, full: true, only: "process"}, 3, 0},
	} {
		stages, err := plan(t.Context(), "../..", tc.full)
		if err != nil {
			t.Fatal(err)
		}
		if stages, err = tc.of(stages); err != nil {
			t.Fatal(err)
		}
		if first, later := apart(stages); len(first) != tc.first || len(later) != tc.later {
			t.Errorf("%+v: %d stages one after the other and %d beside, want %d and %d",
				tc.choice, len(first), len(later), tc.first, tc.later)
		}
	}
}

// Else the linter has Kubernetes' modules compiled once more, which takes a minute.
func TestTheLinterSharesWhatTheTestsCompile(t *testing.T) {
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

func TestSomePackagesCanBeChosen(t *testing.T) {
	t.Parallel()
	stages, err := plan(t.Context(), "../..", false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := choice{packages: "tests/system/e2e,internal/contract/event", times: 3}.of(stages)
	if err != nil || len(got) != 2 {
		t.Fatalf("%d stages, %v", len(got), err)
	}
	for i, want := range []string{modulePath + "internal/contract/event", modulePath + "tests/system/e2e"} {
		if s := got[i]; !slices.Contains(s.packages, want) || len(s.packages) > 3 || s.count != 3 || s.rerun {
			t.Errorf("stage %q has %v, %d times, run again %v", s.name, s.packages, s.count, s.rerun)
		}
	}
	if got, err := (choice{only: "processes", packages: "internal/contract/event"}).of(stages); err == nil {
		t.Errorf("nothing to run is %v and no error", got)
	}
}
