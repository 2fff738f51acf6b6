// Package rendering renders the chart as Helm does for an installation, without a
// cluster.
package rendering

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// What everything is rendered for.
const (
	Release   = "millrace"
	Namespace = "analytics"
)

// Root returns the folder of the repository, the first one upwards with a chart.
func Root() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "deploy", "helm", "millrace", "Chart.yaml")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no folder upwards of here has deploy/helm/millrace")
		}
	}
	return "", err
}

// Folder returns the chart's folder.
func Folder() (string, error) {
	root, err := Root()
	return filepath.Join(root, "deploy", "helm", "millrace"), err
}

// Load reads the chart. Its version can be set on the result: nothing is shared.
func Load() (*chart.Chart, error) {
	dir, err := Folder()
	if err != nil {
		return nil, err
	}
	return loader.LoadDir(dir)
}

// KubeVersion returns which Kubernetes everything is rendered for: that of the API server into which tests install
// it, tools/kubeapi. Its version is that of the chart tests' own libraries, so that both are compiled once.
func KubeVersion() (*chartutil.KubeVersion, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	mod, err := os.ReadFile(filepath.Join(root, "tools", "kubeapi", "go.mod"))
	if err != nil {
		return nil, err
	}
	named := kubernetes.FindSubmatch(mod)
	if named == nil {
		return nil, errors.New("tools/kubeapi/go.mod names no version of Kubernetes")
	}
	return chartutil.ParseKubeVersion(string(named[1]))
}

var kubernetes = regexp.MustCompile(`k8s\.io/kubernetes (v[0-9.]+)`)

// Names returns the names of the files of values in ci/, without .yaml.
func Names() ([]string, error) {
	dir, err := Folder()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "ci", "*.yaml"))
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".yaml")
	}
	return files, err
}

// Readme is the name of the values that the chart's README tells to begin with.
const Readme = "README"

// Values reads a file of values, by its name in ci/, or those of the README.
func Values(name string) (map[string]any, error) {
	dir, err := Folder()
	if err != nil {
		return nil, err
	}
	if name != Readme {
		return chartutil.ReadValuesFile(filepath.Join(dir, "ci", name+".yaml"))
	}
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		return nil, err
	}
	_, rest, found := strings.Cut(string(text), "\n```yaml\n")
	block, _, ends := strings.Cut(rest, "\n```\n")
	if !found || !ends {
		return nil, errors.New("the chart's README has no block of values")
	}
	return chartutil.ReadValues([]byte(block))
}

// Render renders the chart with values over its own.
func Render(c *chart.Chart, values map[string]any) (*release.Release, error) {
	install := action.NewInstall(&action.Configuration{Log: func(string, ...any) {}})
	install.ReleaseName, install.Namespace = Release, Namespace
	install.DryRun, install.ClientOnly = true, true
	var err error
	if install.KubeVersion, err = KubeVersion(); err != nil {
		return nil, err
	}
	return install.Run(c, values)
}

// RenderFile renders a file of values, by its name in ci/, or those of the README.
func RenderFile(name string) (*release.Release, error) {
	c, err := Load()
	if err != nil {
		return nil, err
	}
	values, err := Values(name)
	if err != nil {
		return nil, err
	}
	r, err := Render(c, values)
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w", name, err)
	}
	return r, nil
}

// Text returns all manifests of a release, hooks included, as one YAML stream.
func Text(r *release.Release) string {
	var b strings.Builder
	b.WriteString(r.Manifest)
	for _, h := range r.Hooks {
		fmt.Fprintf(&b, "\n---\n# Source: %s\n%s\n", h.Path, h.Manifest)
	}
	return b.String()
}

// Objects returns what a release consists of, hooks included.
func Objects(r *release.Release) ([]unstructured.Unstructured, error) {
	var out []unstructured.Unstructured
	for text := range strings.SplitSeq("\n"+Text(r), "\n---") {
		var o map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &o); err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, text)
		}
		if o != nil {
			out = append(out, unstructured.Unstructured{Object: o})
		}
	}
	return out, nil
}
