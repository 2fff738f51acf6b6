package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// event is one line of go test -json (cmd/test2json).
type event struct {
	Action  string  `json:"Action"`
	Package string  `json:"Package"`
	Test    string  `json:"Test"`
	Output  string  `json:"Output"`
	Elapsed float64 `json:"Elapsed"` // seconds
}

// outcome is the result of a stage, or of a command beside the stages.
type outcome struct {
	stage           string
	took            time.Duration
	red             bool // go test, or the command, failed
	tests, packages int
	failed, flaky   []tested // the innermost tests, without those that contain them
	ended           []string // packages whose last run passed
	slowest         []timed  // tests at the top, the slowest first
	undeclared      []undeclared
}

// tested is a test, or a package outside its tests, with all its output.
type tested struct {
	pkg, test string
	printed   []string // of each run
}

// timed is a test, and how long its longest run took.
type timed struct {
	tested

	took time.Duration
}

// undeclared are the files that a package's tests read although they are not among its inputs.
type undeclared struct {
	pkg   string
	files []string
}

// passed returns the packages that passed at once, without a file that is not declared.
func (o *outcome) passed() []string {
	return slices.DeleteFunc(slices.Clone(o.ended), func(pkg string) bool {
		return slices.ContainsFunc(slices.Concat(o.failed, o.flaky), func(t tested) bool { return t.pkg == pkg }) ||
			slices.ContainsFunc(o.undeclared, func(u undeclared) bool { return u.pkg == pkg })
	})
}

// String names it as go test does.
func (t tested) String() string {
	if t.test == "" {
		return t.pkg
	}
	return t.pkg + "\t" + t.test
}

// keep writes the output of a test to a file beside the events and returns its path.
func (t tested) keep(folder string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>| `, r) {
			return '_'
		}
		return r
	}, strings.TrimPrefix(t.pkg, modulePath)+"."+t.test)
	var text strings.Builder
	for i, printed := range t.printed {
		fmt.Fprintf(&text, "==== run %d ====\n%s", i+1, printed)
	}
	const longest = 150 // of a file's name; file systems allow 255
	file := filepath.Join(folder, name[:min(len(name), longest)]+".log")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		return err.Error()
	}
	return file
}

// readOutcome reads the events of a stage.
func readOutcome(file string) (outcome, error) {
	f, err := os.Open(file)
	if err != nil {
		return outcome{}, fmt.Errorf("reading the events of the tests: %w", err)
	}
	defer f.Close()
	return judge(f)
}

type name struct{ pkg, test string }

// history is the end of each run of a test, with the output of it and of the tests within it.
type history struct {
	ends    []string
	printed []string
	current strings.Builder
	longest time.Duration

	// Of a package only: the number of failed tests in the current run, and whether a run failed
	// without any: it did not build, crashed, hung, or its TestMain failed.
	failing int
	outside bool
}

func judge(events io.Reader) (outcome, error) {
	all := map[name]*history{}
	of := func(n name) *history {
		if all[n] == nil {
			all[n] = &history{}
		}
		return all[n]
	}
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return settle(all), nil
		}
		if err != nil {
			return outcome{}, err
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return outcome{}, fmt.Errorf("reading an event of go test: %w", err)
		}
		switch h := of(name{e.Package, e.Test}); e.Action {
		case "output":
			h.current.WriteString(e.Output)
			for test := e.Test; test != ""; {
				test = parent(test)
				of(name{e.Package, test}).current.WriteString(e.Output)
			}
		case "pass", "fail", "skip":
			if e.Action == "fail" {
				p := of(name{e.Package, ""})
				p.outside = p.outside || (e.Test == "" && p.failing == 0)
				p.failing++
			}
			if e.Test == "" {
				h.failing = 0
			}
			h.ends = append(h.ends, e.Action)
			h.longest = max(h.longest, time.Duration(e.Elapsed*float64(time.Second)))
			h.printed = append(h.printed, h.current.String())
			h.current.Reset()
		}
	}
}

// parent returns the test that contains a test, "" for one at the top.
func parent(test string) string {
	if dir := path.Dir(test); dir != "." {
		return dir
	}
	return ""
}

// settle sorts tests by whether they failed for good or only at first. A package that hung or
// crashed is listed itself: its output names the tests that never ended. A rerun does not make up
// for that, because it runs other tests than those that never ended.
func settle(all map[name]*history) outcome {
	var o outcome
	worse := map[name]bool{} // contains a test that failed
	for n, h := range all {
		if n.test == "" || !slices.Contains(h.ends, "fail") {
			continue
		}
		for up := parent(n.test); up != ""; up = parent(up) {
			worse[name{n.pkg, up}] = true
		}
		worse[name{n.pkg, ""}] = true
	}
	for n, h := range all {
		switch {
		case n.test == "":
			o.packages++
			if len(h.ends) > 0 && h.ends[len(h.ends)-1] == "pass" {
				o.ended = append(o.ended, n.pkg)
			}
		case parent(n.test) == "":
			o.tests++
			o.slowest = append(o.slowest, timed{tested{pkg: n.pkg, test: n.test}, h.longest})
		}
		if !slices.Contains(h.ends, "fail") || (worse[n] && !h.outside) {
			continue
		}
		t := tested{n.pkg, n.test, h.printed}
		if h.ends[len(h.ends)-1] == "pass" && !h.outside {
			o.flaky = append(o.flaky, t)
		} else {
			o.failed = append(o.failed, t)
		}
	}
	o.slowest = slowest(o.slowest)
	for _, list := range [][]tested{o.failed, o.flaky} {
		slices.SortFunc(list, func(a, b tested) int { return strings.Compare(a.String(), b.String()) })
	}
	return o
}

// slowest returns the ten slowest tests, the slowest first.
func slowest(tests []timed) []timed {
	const most = 10
	slices.SortFunc(tests, func(a, b timed) int {
		return cmp.Or(cmp.Compare(b.took, a.took), strings.Compare(a.String(), b.String()))
	})
	return tests[:min(len(tests), most)]
}
