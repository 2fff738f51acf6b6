package archtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Check applies every rule about packages and returns the violations.
func Check(packages []Package) []string {
	var out []string
	for _, p := range packages {
		out = append(out, checkShape(p)...)
		for _, imp := range p.Imports {
			out = append(out, checkImport(p.Path, imp)...)
			out = append(out, checkTechnology(p.Path, imp)...)
		}
		for _, imp := range p.TestImports {
			out = append(out, checkTechnology(p.Path, imp)...)
			if within(ours(imp), never) {
				out = append(out, fmt.Sprintf("%s imports %s: the service never imports its client", p.Path, imp))
			}
		}
	}
	return append(out, checkReach(packages)...)
}

// checkShape looks at a package by itself.
func checkShape(p Package) []string {
	var out []string
	if !p.Documented {
		out = append(out, p.Path+" has no package comment: say what it promises and what it refuses")
	}
	if slices.Contains(bannedNames, p.Name) && !slices.Contains(namedAnyway, p.Path) {
		out = append(out, fmt.Sprintf("%s is named %s, which says nothing: name what it holds", p.Path, p.Name))
	}
	if roomOf(p.Path) == nowhere && !isTest(p.Path) && !isFiles(p.Path) {
		out = append(out, p.Path+" is in no room: move it into one of the table in internal/archtest")
	}
	if within(p.Path, "cmd") && p.Path != "cmd" && strings.Count(p.Path, "/") == 1 && p.MainLines > mainLines {
		out = append(out, fmt.Sprintf("%s/main.go has %d lines, more than %d: wiring belongs into internal/app",
			p.Path, p.MainLines, mainLines))
	}
	return out
}

// checkImport looks at one import of ours by code that is no test.
func checkImport(from, imp string) []string {
	to := ours(imp)
	if to == "" || isTest(from) && !within(to, never) {
		return nil
	}
	reject := func(why string) []string { return []string{fmt.Sprintf("%s imports %s: %s", from, to, why)} }
	if within(to, never) {
		return reject("the service never imports its client")
	}
	if isFiles(from) {
		return reject("a folder of files imports nothing of ours")
	}
	if isFiles(to) {
		return nil
	}
	if isTest(to) {
		return reject("only tests may")
	}
	if why := forbidden(from, to); why != "" {
		return reject(why)
	}
	return nil
}

// checkTechnology looks at one import of a library, by tests too.
func checkTechnology(from, imp string) []string {
	i := slices.IndexFunc(technologies, func(t technology) bool { return imp == t.lib || !t.alone && within(imp, t.lib) })
	switch {
	case i < 0:
		return nil
	case technologies[i].rooms == nil:
		return []string{fmt.Sprintf("%s imports %s: nobody does", from, imp)}
	case isTest(from), slices.ContainsFunc(technologies[i].rooms, func(room string) bool { return within(from, room) }):
		return nil
	}
	return []string{fmt.Sprintf("%s imports %s: only %s may", from, imp, strings.Join(technologies[i].rooms, ", "))}
}

// checkReach looks for packages that link what they may not, by whatever way.
func checkReach(packages []Package) []string {
	imports := map[string][]string{}
	for _, p := range packages {
		for _, imp := range p.Imports {
			if to := ours(imp); to != "" {
				imports[p.Path] = append(imports[p.Path], to)
			}
		}
	}
	var out []string
	for _, from := range slices.Sorted(maps.Keys(imports)) {
		for _, s := range scarce {
			if isTest(from) ||
				slices.ContainsFunc(append(s.from, s.room), func(room string) bool { return within(from, room) }) {
				continue
			}
			if path := reach(imports, from, s.room, map[string]bool{}); path != nil {
				out = append(out, s.what+" are reachable by "+strings.Join(path, " → "))
			}
		}
	}
	return out
}

// reach returns a way from a package into a room, or nil.
func reach(imports map[string][]string, from, room string, seen map[string]bool) []string {
	if within(from, room) {
		return []string{from}
	}
	if seen[from] {
		return nil
	}
	seen[from] = true
	for _, to := range imports[from] {
		if path := reach(imports, to, room, seen); path != nil {
			return append([]string{from}, path...)
		}
	}
	return nil
}

// ours returns the folder of an import of this module, or "".
func ours(imp string) string {
	to, ok := strings.CutPrefix(imp, Module+"/")
	if !ok {
		return ""
	}
	return to
}

// within reports whether path is room or below it.
func within(path, room string) bool {
	rest, ok := strings.CutPrefix(path, room)
	return ok && (rest == "" || rest[0] == '/')
}

func isFiles(path string) bool {
	return slices.ContainsFunc(fileRooms, func(room string) bool { return within(path, room) })
}

func isTest(path string) bool {
	return strings.HasSuffix(path, "test") ||
		slices.ContainsFunc(testRooms, func(room string) bool { return within(path, room) })
}
