package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

func TestJudge_SeparatesFailedTestsFromFlakyOnes(t *testing.T) {
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

func TestSuite_KeepsBothRunsOfAFlakyTest(t *testing.T) {
	t.Parallel()
	got, err := judge(strings.NewReader(events(
		"output p TestA/b too late", "fail p TestA/b", "fail p TestA", "fail p",
		"output p TestA/b in time", "pass p TestA/b", "pass p TestA", "pass p",
	)))
	if err != nil || len(got.flaky) != 1 {
		t.Fatalf("flaky is %v, error %v", got.flaky, err)
	}
	printed, err := concluded(t, got)
	if err != nil {
		t.Errorf("a run in which each test passed in the end is red: %v", err)
	}
	_, line, _ := strings.Cut(printed, "FLAKY\tp\tTestA/b\t")
	kept, err := os.ReadFile(strings.TrimSpace(line))
	if err != nil || !strings.Contains(string(kept), "too late") || !strings.Contains(string(kept), "in time") {
		t.Errorf("kept is %q, %v", kept, err)
	}
}

func TestSuite_EndsWithTheNamesOfFailedTests(t *testing.T) {
	t.Parallel()
	got, err := judge(strings.NewReader(events("output p TestA noise", "fail p TestA", "fail p")))
	if err != nil {
		t.Fatal(err)
	}
	got.stage, got.red = "in process", true
	printed, err := concluded(t, got, outcome{stage: "processes", red: true},
		outcome{stage: "other", undeclared: []undeclared{{"q", []string{"docs/a.md"}}}})
	if !errors.Is(err, errRed) {
		t.Errorf("the error is %v", err)
	}
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	for i, want := range []string{"FAIL\tp\tTestA\t", "FAIL\tprocesses", "FAIL\tq\treads 1 files"} {
		if line := lines[len(lines)-3+i]; !strings.HasPrefix(line, want) {
			t.Errorf("line %d of the last three is %q, want %q", i, line, want)
		}
	}
	for _, o := range []outcome{{failed: got.failed}, {undeclared: []undeclared{{"q", []string{"docs/a.md"}}}}} {
		if _, err := concluded(t, o); !errors.Is(err, errRed) {
			t.Errorf("where go test exits with 0, the error is %v", err)
		}
	}
}

func TestJudge_PassesPackagesThatPassedAtOnce(t *testing.T) {
	t.Parallel()
	got, err := judge(strings.NewReader(events(
		"pass good TestA", "pass good", "skip none", "fail bad TestA", "fail bad", "pass other TestA", "pass other",
		"fail flaky TestA", "fail flaky", "pass flaky TestA", "pass flaky",
	)))
	if err != nil {
		t.Fatal(err)
	}
	got.undeclared = []undeclared{{"other", []string{"docs/a.md"}}}
	if diff := cmp.Diff([]string{"good"}, got.passed()); diff != "" {
		t.Errorf("passed (-want +got):\n%s", diff)
	}
}

func TestReport_PrintsTimesAndBudget(t *testing.T) {
	t.Parallel()
	var tests strings.Builder
	for i := range 12 {
		fmt.Fprintf(&tests, "{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"Test%d\",\"Elapsed\":%d.5}\n", i, i)
	}
	got, err := judge(strings.NewReader(tests.String()))
	if err != nil {
		t.Fatal(err)
	}
	got.stage, got.took = "a stage", 20*time.Second
	printed, err := concluded(t, got)
	if err != nil || strings.Contains(printed, colorRed) || !strings.Contains(printed, "11.5s  p Test11\n") ||
		!strings.Contains(printed, "2.5s  p Test2\n") || strings.Contains(printed, "1.5s  p Test1\n") {
		t.Errorf("at twice its budget %v, %q", err, printed)
	}
	got.took += time.Second
	if printed, err = concluded(t, got); err != nil || !strings.Contains(printed, colorRed) {
		t.Errorf("beyond twice its budget %v, %q", err, printed)
	}
}
