package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tools/thirdparty"
)

// fakeRelease is a release of the repository whose programs are short texts.
func fakeRelease(t *testing.T, version string) *release {
	t.Helper()
	r := &release{
		root: testkit.Root(t), out: t.TempDir(), version: version, time: released,
		platforms: []string{"linux/amd64", "darwin/arm64"},
		parts: []thirdparty.Part{{
			Name: "example.com/x", Version: "v1.0.0", Licences: []string{"MIT"}, Texts: []string{"Permission"},
			URL: "pkg:golang/example.com/x",
		}},
	}
	commands, err := r.commandNames()
	if err != nil {
		t.Fatal(err)
	}
	for _, platform := range r.platforms {
		for _, c := range commands {
			if err := put(r.path(programsDir, platform, c), []byte(platform+" "+c)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r
}

func TestTheSameSourcesMakeTheSameArchives(t *testing.T) {
	t.Parallel()
	var sums [2]string
	for i := range sums {
		r := fakeRelease(t, "1.2.3")
		for _, write := range []func() error{
			func() error { return makeArchives(t.Context(), r) },
			func() error { return writeChecksums(t.Context(), r) },
		} {
			if err := write(); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(r.path(checksumsFile))
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = string(text)
	}
	if sums[0] != sums[1] || strings.Count(sums[0], "\n") != 2 {
		t.Errorf("once\n%s\nthen\n%s", sums[0], sums[1])
	}
}

func TestAnArchiveHasProgramsAndPapers(t *testing.T) {
	t.Parallel()
	r := fakeRelease(t, "1.2.3-rc.1")
	if err := makeArchives(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	files := readArchive(t, r.path("millrace_1.2.3-rc.1_linux_amd64.tar.gz"))
	for name, want := range map[string]string{
		"sink": "-rwxr-xr-x 2026-03-01 linux/amd64 sink", "LICENSE": "-rw-r--r-- 2026-03-01 ",
		"NOTICE":    "-rw-r--r-- 2026-03-01 Millrace",
		"README.md": "-rw-r--r-- 2026-03-01 # Millrace", "THIRD_PARTY_LICENSES": "-rw-r--r-- 2026-03-01 What of others",
	} {
		if got := files["millrace_1.2.3-rc.1_linux_amd64/"+name]; !strings.HasPrefix(got, want) {
			t.Errorf("%s is %.60q, want %q", name, got, want)
		}
	}
}

// readArchive returns mode, day and content of each file.
func readArchive(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = fmt.Sprintf("%s %s %s", h.FileInfo().Mode(), h.ModTime.UTC().Format(time.DateOnly), content)
	}
}

func TestTheChartGetsTheReleasesVersion(t *testing.T) {
	t.Parallel()
	r := &release{root: t.TempDir(), out: t.TempDir(), version: "1.2.3", time: released}
	chart := filepath.Join(r.root, chartDir)
	for name, text := range map[string]string{
		"Chart.yaml": "name: millrace\nversion: 0.0.0\nappVersion: dev\ntype: application\n", "templates/a.yaml": "kind: A\n",
		".helmignore": "# not packaged\nci/\n*.tmpl\n",
		"ci/all.yaml": "a: b\n", "README.tmpl": "#\n", "templates/ci": "kind: B\n",
	} {
		if err := put(filepath.Join(chart, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := packageChart(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	files := readArchive(t, r.path("millrace-1.2.3.tgz"))
	want := "-rw-r--r-- 2026-03-01 name: millrace\nversion: \"1.2.3\"\nappVersion: \"1.2.3\"\ntype: application\n"
	if got := files["millrace/Chart.yaml"]; got != want || len(files) != 3 {
		t.Errorf("Chart.yaml is %q among %d files, want %q", got, len(files), want)
	}
	if err := put(filepath.Join(chart, "Chart.yaml"), []byte("name: millrace\n")); err != nil {
		t.Fatal(err)
	}
	if err := packageChart(t.Context(), r); err == nil || !strings.Contains(err.Error(), "not 2") {
		t.Errorf("a chart without versions: %v", err)
	}
}

func TestTheListOfPartsIsHeldAgainstThePrograms(t *testing.T) {
	t.Parallel()
	r := fakeRelease(t, "1.2.3")
	r.platforms = []string{runtime.GOOS + "/" + runtime.GOARCH}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	commands, err := r.commandNames()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands { // this test's own program stands for each
		path := r.path(programsDir, r.platforms[0], c)
		os.Remove(path)
		if err := copyFile(path, self, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeSBOM(t.Context(), r); err == nil || !strings.Contains(err.Error(), "which is not among the parts") {
		t.Errorf("a program with more than the parts: %v", err)
	}
}

func TestTheListOfPartsNamesEachWithItsLicences(t *testing.T) {
	t.Parallel()
	r := fakeRelease(t, "1.2.3")
	b, err := json.Marshal(r.bom(map[string]string{"example.com/x": "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"purl":"pkg:golang/example.com/x@v1.0.0"`, `"licenses":[{"license":{"id":"MIT"}}]`,
		`"content":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`, `"timestamp":"2026-03-01T12:00:00Z"`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is not in %s", want, b)
		}
	}
}

func TestAVersionIsAsked(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "1.2", "latest", "v1.2.3/x"} {
		if err := run(t.Context(), &release{version: version}); err == nil ||
			!strings.Contains(err.Error(), "is no version such as v1.2.3") {
			t.Errorf("%q: %v", version, err)
		}
	}
}
