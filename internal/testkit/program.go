package testkit

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
)

// Unoptimized is the setting of the environment with which Kubernetes' API server and the
// tests that share its modules are compiled: they hardly compute anything, and compiling
// them is most of what a new machine has to do. It is a third less without optimisation,
// and without what only debuggers read. The Makefile has the same for the linter.
const Unoptimized = `GOFLAGS=-trimpath -buildvcs=false "-gcflags=all=-N -l -dwarf=false"`

// preparing holds up others who ask for a program of this process; between
// processes, tools/services does.
var preparing sync.Mutex

// Program returns the path of a program, which tools/services installs where it is
// missing: one of those that it lists by that name.
func Program(name string) (string, error) {
	preparing.Lock()
	defer preparing.Unlock()
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	root, err := ModuleRoot()
	if err != nil {
		return "", err
	}
	install := exec.Command("go", "run", "./tools/services", "-prepare", name)
	install.Dir = root
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("installing %s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return exec.LookPath(name)
}
