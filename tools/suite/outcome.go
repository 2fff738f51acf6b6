package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// event is one line of go test -json (cmd/test2json).
type event struct {
	Action  string `json:"Action"`
	Package string `json:"Package"`
	Test    string `json:"Test"`
	Output  string `json:"Output"`
}

// outcome is what the tests of a stage came to.
type outcome struct {
	stage           string
	red             bool // as the exit of go test says it
	tests, packages int
	failed, flaky   []tested // those at the bottom: a test and not those that it is part of
}

// tested is a test, or a package outside of its tests, and all that it printed.
type tested struct {
	pkg, test string
	printed   []string // of each run
}

// String names it as go test does.
func (t tested) String() string {
	if t.test == "" {
		return t.pkg
	}
	return t.pkg + "\t" + t.test
}

// keep writes what a test printed beside the events and returns where.
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
	const longest = 150 // of a file's name, below what file systems take
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
		return outcome{}, fmt.Errorf("reading what the tests told: %w", err)
	}
	defer f.Close()
	return judge(f)
}

type name struct{ pkg, test string }

// history is what became of one test: the end of each of its runs, and what was printed
// in it by itself and those that are part of it.
type history struct {
	ends    []string
	printed []string
	current strings.Builder

	// Of a package only: how many tests failed in the run that goes on, and whether one
	// of its runs failed without any: it did not build, fell, hung, or its TestMain failed.
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
			h.printed = append(h.printed, h.current.String())
			h.current.Reset()
		}
	}
}

// parent is the test that a test is part of, "" of one at the top.
func parent(test string) string {
	if dir := path.Dir(test); dir != "." {
		return dir
	}
	return ""
}

// settle sorts out who failed: once and for all, or only the first time. Of a package
// that hung or fell the package itself is told: which of its tests never ended, and
// which ran at that moment, stands in what it printed. No second run makes up for that:
// what failed there is not what is run again.
func settle(all map[name]*history) outcome {
	var o outcome
	worse := map[name]bool{} // has one below it that failed
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
		case parent(n.test) == "":
			o.tests++
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
	for _, list := range [][]tested{o.failed, o.flaky} {
		slices.SortFunc(list, func(a, b tested) int { return strings.Compare(a.String(), b.String()) })
	}
	return o
}
