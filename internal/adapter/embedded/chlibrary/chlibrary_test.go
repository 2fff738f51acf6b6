package chlibrary

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// fakeNPM puts an npm on PATH that does what script says; the script sees $PKG,
// the folder that it would install the package into.
func fakeNPM(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	text := "#!/bin/sh\nPKG=node_modules/" + pkg(t) + "\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, "npm"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

func pkg(t *testing.T) string {
	t.Helper()
	name, err := Package(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// installing is what npm does when all goes well.
const installing = `mkdir -p $PKG && echo '{"version":"` + Version +
	`"}' >$PKG/package.json && echo engine >$PKG/libchdb.so`

func TestInstallPutsTheLibraryWhereFindLooks(t *testing.T) {
	fakeNPM(t, `test "$1" = install && test -f package-lock.json || exit 1
`+installing)
	t.Setenv("MILLRACE_CACHE", t.TempDir())
	dir, err := Folder()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	path, err := Install(t.Context(), dir, func(line string) { lines = append(lines, line) })
	if err != nil {
		t.Fatal(err)
	}
	if found, err := Find(""); found != path || err != nil {
		t.Errorf("Find() = %q, %v, want %q", found, err, path)
	}
	if len(lines) < 2 || lines[0] != "fetching ClickHouse 26.7 (170 MB, once)" {
		t.Errorf("the progress is %q", lines)
	}
	left, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the library there is %v, %v", left, err)
	}
}

func TestInstallSaysInOneSentenceWhyItFailed(t *testing.T) { //nolint:paralleltest // sets PATH
	for name, tt := range map[string]struct{ script, want string }{ //nolint:paralleltest // see above
		"no network": {
			`test "$1" = install && exit 0; echo "npm error code ENOTFOUND
npm error errno ENOTFOUND
npm error network request to a registry failed" >&2; exit 1`,
			"npm could not fetch " + pkg(t) + " 26.7.3-stable.1: ENOTFOUND: network request to a registry failed",
		},
		"not in the registry": {
			`test "$1" = install && exit 0; echo "npm error code E404
npm error 404 Not Found" >&2; exit 1`,
			"E404: Not Found",
		},
		"another libc":     {`exit 0`, "it skipped the package; is this a system with glibc?"},
		"npm itself fails": {`echo "npm error code ENOSPC" >&2; exit 1`, "npm could not fetch ClickHouse: ENOSPC"},
		"npm says nothing": {`exit 1`, "npm could not fetch ClickHouse: npm gave no reason"},
	} {
		t.Run(name, func(t *testing.T) {
			fakeNPM(t, tt.script)
			dir := filepath.Join(t.TempDir(), "clickhouse")
			_, err := Install(t.Context(), dir, nil)
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v, want %q at its end", err, tt.want)
			}
			if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 0 {
				t.Errorf("it leaves %v, %v", left, err)
			}
		})
	}
}

func TestInstallSweepsWhatKilledOnesLeft(t *testing.T) { //nolint:paralleltest // sets PATH
	fakeNPM(t, installing)
	dir := filepath.Join(t.TempDir(), "clickhouse")
	old, recent := dir+".part-1", dir+".part-2"
	for _, part := range []string{old, recent} {
		if err := os.Mkdir(part, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	killed := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, killed, killed); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the abandoned one: %v", err)
	}
	if _, err := os.Stat(recent); err != nil {
		t.Errorf("the one that may still run: %v", err)
	}
}

func TestInstallLeavesALibraryThatIsThere(t *testing.T) { //nolint:paralleltest // sets PATH
	fakeNPM(t, installing)
	dir := filepath.Join(t.TempDir(), "clickhouse")
	path, err := Install(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(dir, "mark")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := Install(t.Context(), dir, nil); again != path || err != nil {
		t.Fatalf("the second installation: %q, %v", again, err)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("it was replaced: %v", err)
	}
}

func TestInstallWithoutNPMSaysWhatToDo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Install(t.Context(), filepath.Join(t.TempDir(), "x"), nil)
	if err == nil || !strings.HasPrefix(err.Error(), "fetching the embedded ClickHouse requires npm, which is not on "+
		"PATH") {
		t.Errorf("the error is %v", err)
	}
}

func TestFindTakesNoOtherVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := filepath.Join(dir, "node_modules", filepath.FromSlash(pkg(t)))
	if err := os.MkdirAll(root, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"package.json": `{"version":"1.0.0"}`, "libchdb.so": "engine"} {
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := fmt.Sprintf("MILLRACE_EMBEDDED_CLICKHOUSE_LIBRARY: %s contains no ClickHouse library of version %s",
		dir, Version)
	if _, err := Find(dir); err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	file := filepath.Join(root, "libchdb.so")
	if found, err := Find(file); found != file || err != nil {
		t.Errorf("a library named by its file: Find() = %q, %v", found, err)
	}
	if _, err := Find(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a library that is not there: %v", err)
	}
}

func TestPlatforms(t *testing.T) {
	t.Parallel()
	for platform, want := range packages {
		goos, goarch, _ := strings.Cut(platform, "/")
		if got, err := Package(goos, goarch); got != want || err != nil {
			t.Errorf("Package(%s) = %q, %v", platform, got, err)
		}
	}
	if _, err := Package("windows", "amd64"); err == nil ||
		!strings.Contains(err.Error(), "no embedded ClickHouse exists for windows/amd64") {
		t.Errorf("Package(windows) = %v", err)
	}
}

func TestNPMFilesPinEveryPlatformAndNoRegistry(t *testing.T) {
	t.Parallel()
	manifest, err := npmFiles.ReadFile("npm/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		OptionalDependencies map[string]string `json:"optionalDependencies"`
	}
	if err := json.Unmarshal(manifest, &m); err != nil {
		t.Fatal(err)
	}
	for platform, name := range packages {
		if got := m.OptionalDependencies[name]; got != Version {
			t.Errorf("package.json has version %q of %s for %s, want %s", got, name, platform, Version)
		}
	}
	lock, err := npmFiles.ReadFile("npm/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(lock), "http") {
		t.Error("package-lock.json names a registry")
	}
	if !strings.Contains(string(lock), `"integrity": "sha512-`) {
		t.Error("package-lock.json has no checksum")
	}
}
