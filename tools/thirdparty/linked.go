package thirdparty

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/archtest"
)

// Platforms are those of a release, as the Go command names them.
var Platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

// Part is something of others that is shipped.
type Part struct {
	// Name is a module's path, or what its authors call it.
	Name, Version string
	// Licences are SPDX identifiers, sorted: all of them hold.
	Licences []string
	// Texts are the licences and notices that go with it.
	Texts []string
	// In are the commands that hold it, sorted.
	In []string
	// URL is the package URL without the version, by which scanners know it.
	URL string
}

// listed is what go list tells of a package.
type listed struct {
	ImportPath string   `json:"ImportPath"`
	Dir        string   `json:"Dir"`
	Name       string   `json:"Name"`
	Deps       []string `json:"Deps"`
	Module     *struct {
		Path    string    `json:"Path"`
		Version string    `json:"Version"`
		Dir     string    `json:"Dir"`
		Replace *struct{} `json:"Replace"`
	} `json:"Module"`
}

// Parts lists what the commands of the repository at root hold, sorted by name.
func Parts(ctx context.Context, root string) ([]Part, error) {
	modules := map[string]*module{}
	for _, platform := range Platforms {
		if err := collect(ctx, root, platform, modules); err != nil {
			return nil, err
		}
	}
	parts, err := embedded(root)
	errs := []error{err}
	std, err := standard(ctx, root)
	parts, errs = append(parts, std), append(errs, err)
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		p, err := modules[name].part()
		parts, errs = append(parts, p), append(errs, err)
	}
	for _, p := range parts {
		errs = append(errs, allowed(p))
	}
	slices.SortFunc(parts, func(a, b Part) int { return strings.Compare(a.Name, b.Name) })
	return parts, errors.Join(errs...)
}

// module is one that some command links, on some platform.
type module struct {
	path, version, dir string
	packages, commands map[string]bool
}

// collect adds the modules that the commands link on a platform.
func collect(ctx context.Context, root, platform string, modules map[string]*module) error {
	packages, err := list(ctx, root, platform)
	if err != nil {
		return err
	}
	for _, main := range packages {
		command, isCommand := strings.CutPrefix(main.ImportPath, archtest.Module+"/cmd/")
		if !isCommand || main.Name != "main" {
			continue
		}
		for _, dep := range main.Deps {
			p := packages[dep]
			if p == nil || p.Module == nil || p.Module.Path == archtest.Module {
				continue
			}
			if p.Module.Replace != nil {
				return fmt.Errorf("%s is replaced: its licence would be another's", p.Module.Path)
			}
			m := modules[p.Module.Path]
			if m == nil {
				m = &module{p.Module.Path, p.Module.Version, p.Module.Dir, map[string]bool{}, map[string]bool{}}
				modules[m.path] = m
			}
			m.packages[p.Dir], m.commands[command] = true, true
		}
	}
	return nil
}

func list(ctx context.Context, root, platform string) (map[string]*listed, error) {
	goos, goarch, _ := strings.Cut(platform, "/")
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-json=ImportPath,Dir,Name,Deps,Module", "./cmd/...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing what is linked on %s: %w: %s", platform, err, stderr.String())
	}
	packages := map[string]*listed{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading the output of go list: %w", err)
		}
		packages[p.ImportPath] = p
	}
}

// part reads the licences in the folders of the linked packages, and in those
// above them, up to the module's own: a package may hold code of yet others.
func (m *module) part() (Part, error) {
	p := Part{Name: m.path, Version: m.version, In: slices.Sorted(maps.Keys(m.commands)), URL: "pkg:golang/" + m.path}
	dirs := map[string]bool{}
	for dir := range m.packages {
		for ; len(dir) >= len(m.dir); dir = filepath.Dir(dir) {
			dirs[dir] = true
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if err := p.readFolder(dir); err != nil {
			return p, fmt.Errorf("reading the licence of %s: %w", m.path, err)
		}
	}
	return p, nil
}

// standard is Go's own library and runtime.
func standard(ctx context.Context, root string) (Part, error) {
	p := Part{Name: "Go standard library", URL: "pkg:golang/std"}
	cmd := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOVERSION")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return p, fmt.Errorf("looking for Go: %w", err)
	}
	goroot, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	p.Version = strings.TrimPrefix(version, "go")
	commands, err := archtest.Commands(root)
	if err != nil {
		return p, err
	}
	for _, c := range commands {
		p.In = append(p.In, path.Base(c))
	}
	err = p.readFolder(goroot)
	return p, err
}
