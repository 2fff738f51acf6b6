package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/runfolder"
)

// kubeAPIVersion is the line of tools/kubeapi's go.mod that says which API server
// it is.
var kubeAPIVersion = regexp.MustCompile(`k8s\.io/kubernetes (v[0-9.]+)`)

// kubeAPI returns where the API server is kept, the folder of its source, and its
// version.
func kubeAPI() (binary, source, version string, err error) {
	root, err := testkit.ModuleRoot()
	if err != nil {
		return "", "", "", err
	}
	source = filepath.Join(root, "tools", "kubeapi")
	mod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return "", "", "", err
	}
	found := kubeAPIVersion.FindSubmatch(mod)
	if found == nil {
		return "", "", "", fmt.Errorf("%s/go.mod names no version of Kubernetes", source)
	}
	version = string(found[1])
	cache, err := config.CacheDir()
	return filepath.Join(cache, "bin", "kubeapi-"+version), source, version, err
}

// prepareKubernetes installs etcd and builds the API server, which takes minutes,
// unless that was done before. Two processes that come at the same time wait for
// one another.
func prepareKubernetes(ctx context.Context) error {
	if err := install(ctx, tool{binary: "etcd", pkg: "etcd-server"}); err != nil {
		return err
	}
	binary, source, version, err := kubeAPI()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(binary), 0o755); err != nil {
		return err
	}
	unlock, err := runfolder.Lock(binary+".lock", true)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(binary); err == nil {
		return nil
	}
	fmt.Fprintln(os.Stderr, "services: building Kubernetes' API server, once; this takes minutes")
	// What it says of itself, by which charts decide whether they suit it.
	says := "-s -w -X k8s.io/component-base/version.gitVersion=" + version
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", says, "-o", binary+".part", ".")
	cmd.Dir, cmd.Env = source, append(cmd.Environ(), testkit.Unoptimized)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the API server: %w: %s", err, tail(out))
	}
	return os.Rename(binary+".part", binary)
}

func buildKubernetes(_ context.Context, dir string) (*server, string, error) {
	binary, _, _, err := kubeAPI()
	if err != nil {
		return nil, "", err
	}
	var ports [3]int
	for i := range ports {
		if ports[i], err = testkit.ReservePort(); err != nil {
			return nil, "", err
		}
	}
	dir = filepath.Join(dir, "kubernetes")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, "", err
	}
	return &server{
		name:  "kubernetes",
		ready: "kubeapi ready",
		halt:  syscall.SIGTERM,
		log:   filepath.Join(dir, "kubeapi.log"),
		path:  binary,
		args: []string{
			"-dir", dir, "-port", strconv.Itoa(ports[0]),
			"-etcd-port", strconv.Itoa(ports[1]), "-etcd-peer-port", strconv.Itoa(ports[2]),
		},
	}, fmt.Sprintf("KUBERNETES=https://127.0.0.1:%d?files=%s", ports[0], dir), nil
}
