package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// finding is a place that breaks a rule.
type finding struct {
	key
	line    int
	message string
}

// exempt are folders whose documents are not checked: what is generated, decisions, measurements.
var exempt = []string{"docs/reference", "docs/adr", "docs/benchmarks"}

// built are folders with files that are not part of the project.
var built = []string{"node_modules", "testdata", "bin", "dist", "data"}

// documents returns the Markdown files of a checkout that are checked, relative to its root.
func documents(root string) ([]string, error) {
	var docs []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		hidden := path != root && strings.HasPrefix(d.Name(), ".")
		switch {
		case d.IsDir() && (hidden || slices.Contains(built, d.Name()) || slices.Contains(exempt, name)):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(name, ".md"):
			docs = append(docs, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing the documents: %w", err)
	}
	return docs, nil
}

// textLine matches a line of tools/texts: path, line, kind and text.
var textLine = regexp.MustCompile(`^([^:]+):(\d+): [a-z]+: (.*)$`)

// check returns what Vale finds in documents, and in texts as tools/texts prints them, by the rules of root.
func check(ctx context.Context, vale, root string, docs []string, texts io.Reader) ([]finding, error) {
	dir, err := os.MkdirTemp("", "voice")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a folder of the system's
	file := filepath.Join(dir, "texts.txt")
	places, err := writeTexts(file, texts)
	if err != nil {
		return nil, err
	}
	args := append([]string{"--no-global", "--config=.vale.ini", "--output=JSON", "--no-exit", file}, docs...)
	cmd := exec.CommandContext(ctx, vale, args...)
	cmd.Dir = root
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("running Vale: %w: %s%s", err, problems.String(), out)
	}
	var alerts map[string][]struct {
		Check   string `json:"Check"`
		Message string `json:"Message"`
		Line    int    `json:"Line"`
	}
	if err := json.Unmarshal(out, &alerts); err != nil {
		return nil, fmt.Errorf("reading Vale's output: %w", err)
	}
	var found []finding
	for path, all := range alerts {
		for _, a := range all {
			_, rule, _ := strings.Cut(a.Check, ".")
			f := finding{key: key{path, rule}, line: a.Line, message: a.Message}
			if path == file {
				place := places[(a.Line-1)/linesPerText]
				f.path, f.line = place.path, place.line
			}
			found = append(found, f)
		}
	}
	return found, nil
}

// place is a line of a source file.
type place struct {
	path string
	line int
}

// linesPerText is the number of lines that a text has in the file for Vale: its own and an empty one.
const linesPerText = 2

// writeTexts writes texts to a file, each a paragraph, and returns their places.
func writeTexts(file string, texts io.Reader) ([]place, error) {
	var places []place
	var paragraphs bytes.Buffer
	lines := bufio.NewScanner(texts)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := textLine.FindStringSubmatch(lines.Text())
		if m == nil {
			return nil, fmt.Errorf("%q is no line of tools/texts", lines.Text())
		}
		line, err := strconv.Atoi(m[2])
		if err != nil {
			return nil, err
		}
		places = append(places, place{m[1], line})
		paragraphs.WriteString(strings.TrimSuffix(m[3], ".") + ".\n\n") // Vale joins paragraphs without an end
	}
	if len(places) == 0 {
		return nil, errors.New("no texts on the standard input")
	}
	return places, errors.Join(lines.Err(), os.WriteFile(file, paragraphs.Bytes(), 0o600))
}
