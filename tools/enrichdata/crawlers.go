package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp/syntax"
	"slices"
	"strings"
)

const (
	crawlersFile    = "data/crawlers.tsv"
	crawlersLicense = "data/crawlers.LICENSE"
	instancesFile   = "testdata/instances.txt"
)

// crawler is an entry of the list.
type crawler struct {
	Pattern   string   `json:"pattern"`
	Instances []string `json:"instances"`
	Tags      []string `json:"tags"`
}

// literal is a text that a user agent must contain.
type literal struct {
	text       string
	start, end bool   // where it must stand
	also       string // an expression that must match besides; empty for none
}

// writeCrawlers writes the entries that are crawlers, each as the texts that its
// expression stands for, and the examples of all, for the test that sorts them.
func writeCrawlers(dir, version string, files map[string][]byte) error {
	var list []crawler
	if err := json.Unmarshal(files["crawler-user-agents.json"], &list); err != nil {
		return err
	}
	var out, examples bytes.Buffer
	fmt.Fprintf(&out,
		"# Made by tools/enrichdata of the npm package crawler-user-agents %s (MIT, see crawlers.LICENSE).\n"+
			"# kind, where (^ begin, $ end), text, expression that must match besides.\n", version)
	for _, c := range list {
		for _, text := range c.Instances {
			fmt.Fprintln(&examples, strings.Join(strings.Fields(text), " "))
		}
		kind, ok := kindOf(c)
		if !ok {
			continue
		}
		lines, err := linesOf(c.Pattern, kind)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Pattern, err)
		}
		out.WriteString(lines)
	}
	for name, content := range map[string][]byte{
		crawlersFile: out.Bytes(), crawlersLicense: files["LICENSE"], instancesFile: examples.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// kindOf returns what kind of bot an entry is, and false for what is a client
// like any other.
func kindOf(c crawler) (kind string, ok bool) {
	if slices.Contains(people, c.Pattern) || slices.Contains(libraries, c.Pattern) {
		return "", false
	}
	if kind, ok := crawlersAnyway[c.Pattern]; ok {
		return kind, true
	}
	for _, k := range kinds {
		if slices.Contains(c.Tags, k.tag) {
			return k.kind, k.kind != ""
		}
	}
	return "crawler", true
}

func linesOf(pattern, kind string) (string, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", err
	}
	texts, ok := expand(re)
	if !ok {
		texts = []literal{{text: required(re), also: pattern}}
	}
	if n := narrowed[pattern]; n != nil {
		texts = n
	}
	var out strings.Builder
	for _, t := range texts {
		if len(t.text) < 3 {
			return "", fmt.Errorf("%q is too short to be searched for", t.text)
		}
		where := ""
		if t.start {
			where = "^"
		}
		if t.end {
			where += "$"
		}
		line := strings.TrimRight(strings.Join([]string{kind, where, t.text, t.also}, "\t"), "\t")
		fmt.Fprintln(&out, line)
	}
	return out.String(), nil
}

// maxClass is how many characters a class may have to be written out.
const maxClass = 4

// expand returns all texts that an expression stands for, if they are few.
func expand(re *syntax.Regexp) ([]literal, bool) {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []literal{{text: string(re.Rune)}}, true
		}
		return eitherCase(re.Rune) // a class such as [cC]
	case syntax.OpCharClass:
		var list []literal
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if list = append(list, literal{text: string(r)}); len(list) > maxClass {
					return nil, false
				}
			}
		}
		return list, true
	case syntax.OpEmptyMatch:
		return []literal{{}}, true
	case syntax.OpBeginText:
		return []literal{{start: true}}, true
	case syntax.OpEndText:
		return []literal{{end: true}}, true
	case syntax.OpCapture:
		return expand(re.Sub[0])
	case syntax.OpAlternate:
		var list []literal
		for _, sub := range re.Sub {
			more, ok := expand(sub)
			if !ok {
				return nil, false
			}
			list = append(list, more...)
		}
		return list, true
	case syntax.OpConcat:
		return product(re.Sub)
	default:
		return nil, false
	}
}

// eitherCase returns a short text in every mixture of cases.
func eitherCase(text []rune) ([]literal, bool) {
	list := []literal{{}}
	for _, r := range text {
		var next []literal
		for _, l := range list {
			next = append(next, literal{text: l.text + strings.ToLower(string(r))},
				literal{text: l.text + strings.ToUpper(string(r))})
		}
		if list = next; len(list) > maxClass {
			return nil, false
		}
	}
	return list, true
}

func product(parts []*syntax.Regexp) ([]literal, bool) {
	list := []literal{{}}
	for _, part := range parts {
		more, ok := expand(part)
		if !ok {
			return nil, false
		}
		var next []literal
		for _, a := range list {
			for _, b := range more {
				next = append(next, literal{text: a.text + b.text, start: a.start || b.start, end: a.end || b.end})
			}
		}
		list = next
	}
	return list, true
}

// required returns the longest text that every match of the expression contains.
func required(re *syntax.Regexp) string {
	longest := ""
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			if text := required(sub); len(text) > len(longest) {
				longest = text
			}
		}
	default:
	}
	return longest
}
