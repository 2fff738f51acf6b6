package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/millrace/millrace/internal/testkit"
)

// pages returns the documents that tell people what to run, by their names in the repository; the reference is
// made of what the command says itself.
func pages(t *testing.T) map[string]string {
	t.Helper()
	root := testkit.Root(t)
	all := map[string]string{}
	add := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimPrefix(path, root+"/")] = string(text)
	}
	for _, name := range []string{"README.md", "SECURITY.md", "deploy/helm/millrace/README.md"} {
		add(filepath.Join(root, name))
	}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "reference":
			return fs.SkipDir
		case filepath.Ext(path) == ".md":
			add(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var (
	fenced = regexp.MustCompile("(?s)\n *```[a-z]*\n(.*?\n) *```")
	inline = regexp.MustCompile("`([^`]+)`")
	// called is a command of ours where a shell would run it: at the beginning, behind settings, behind a pipe, and as
	// what another program runs.
	called = regexp.MustCompile(`(?:^|-- |[|;&(] ?|^\./)(?:[A-Z_]+=\S+ +)*(?:\./)?millrace +([a-z].*)$`)
	word   = regexp.MustCompile(`"[^"]*"|'[^']*'|[^\s"']+`)
)

// commandsOf returns the arguments of each command of ours that a page shows.
func commandsOf(text string) (all [][]string) {
	var lines []string
	for _, block := range fenced.FindAllStringSubmatch(text, -1) {
		lines = append(lines, strings.Split(strings.ReplaceAll(block[1], "\\\n", " "), "\n")...)
	}
	for _, code := range inline.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		lines = append(lines, strings.Join(strings.Fields(code[1]), " "))
	}
	for _, line := range lines {
		m := called.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		var args []string
		for _, w := range word.FindAllString(m[1], -1) {
			if strings.ContainsAny(w[:1], "|<>#;&)") || strings.HasPrefix(w, "2>") {
				break
			}
			args = append(args, strings.TrimRight(strings.Trim(w, `"'`), ");"))
		}
		all = append(all, args)
	}
	return all
}

// Somebody types it at night.
func TestEveryCommandOfTheDocumentsIsOne(t *testing.T) {
	t.Parallel()
	commands := 0
	for name, text := range pages(t) {
		for _, args := range commandsOf(text) {
			if slices.Equal(args, []string{"ready"}) { // which standalone mode prints
				continue
			}
			commands++
			cmd, rest, err := newRoot().Find(args)
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			// A text may name a flag without a value.
			if err != nil && !errors.Is(err, pflag.ErrHelp) && !strings.Contains(err.Error(), "flag needs an argument") {
				t.Errorf("%s: millrace %s: %v", name, strings.Join(args, " "), err)
				continue
			}
			if left := cmd.Flags().Args(); !cmd.Runnable() && len(left) > 0 {
				t.Errorf("%s: millrace %s: there is no %q", name, strings.Join(args, " "), left[0])
			}
		}
	}
	if commands < 150 {
		t.Errorf("the documents show %d commands", commands)
	}
}
