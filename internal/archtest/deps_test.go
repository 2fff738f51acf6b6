package archtest

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestEachCommandLinksTheModulesOfItsList(t *testing.T) {
	t.Parallel()
	commands, err := Commands(root)
	if err != nil || len(commands) == 0 {
		t.Fatalf("commands %q, error %v", commands, err)
	}
	for _, c := range commands {
		if err := CheckDeps(t.Context(), root, c); err != nil {
			t.Error(err)
		}
	}
}

func TestAListOfModulesThatDiffersSaysHow(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ got, want, says string }{
		"equal":      {"a\nb\n", "a\nb\n", ""},
		"one more":   {"a\n", "a\nb\n", "cmd/x now links b"},
		"one less":   {"a\nb\n", "b\n", "cmd/x no longer links a"},
		"not sorted": {"b\na\n", "a\nb\n", "cmd/x is not sorted"},
	} {
		err := compareLists("cmd/x", tc.got, tc.want)
		if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.says)) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
}

// required returns the versions of the modules that the go.mod at path names.
func required(t *testing.T, path string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", path)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	type module struct{ Path, Version string }
	var file struct {
		Require []module
		Replace []struct{ Old, New module }
	}
	if err := json.Unmarshal(out, &file); err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, r := range file.Require {
		versions[r.Path] = r.Version
	}
	for _, r := range file.Replace {
		if _, there := versions[r.Old.Path]; there {
			versions[r.Old.Path] = r.New.Version
		}
	}
	return versions
}

// What several modules import would be compiled once for each version of it, which is
// most of what the tests cost on a new machine.
func TestTheModulesOfTestsShareTheVersionsOfWhatTheyImport(t *testing.T) {
	t.Parallel()
	var files []string
	for _, folder := range []string{"tests/contract", "tools"} {
		found, err := filepath.Glob(filepath.Join(root, folder, "*", "go.mod"))
		if err != nil || len(found) == 0 {
			t.Fatalf("the modules of %s are %v, error %v", folder, found, err)
		}
		files = append(files, found...)
	}
	versions, shared := required(t, filepath.Join(root, "go.mod")), 0
	for _, file := range files {
		for module, version := range required(t, file) {
			other, known := versions[module]
			if known && other != version {
				t.Errorf("%s requires %s %s, and another module %s: run go get %[2]s@VERSION and go mod tidy in one of them",
					file, module, version, other)
			} else if known {
				shared++
			}
			versions[module] = version
		}
	}
	if shared == 0 {
		t.Error("nothing is shared; the test shows nothing")
	}
}
