package deployed

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/millrace/millrace/internal/testkit"
)

// object is what of a manifest matters here.
type object struct {
	Kind     string
	Metadata struct {
		Name        string
		Annotations map[string]string
	}
	Spec struct {
		Template struct {
			Spec struct {
				Containers []container
				Volumes    []volume
			}
		}
	}

	raw map[string]any
}

type container struct {
	Name          string
	Command, Args []string
	Env           []struct {
		Name, Value string
		ValueFrom   struct {
			SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
			FieldRef     struct {
				FieldPath string `yaml:"fieldPath"`
			} `yaml:"fieldRef"`
		} `yaml:"valueFrom"`
	}
	VolumeMounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

// volume is files out of a Secret or a ConfigMap.
type volume struct {
	Name   string
	Secret struct {
		Name string `yaml:"secretName"`
	}
	ConfigMap struct{ Name string } `yaml:"configMap"`
}

// machine is what differs from where the manifests are meant for.
type machine struct {
	// settings stand for those of the manifests.
	settings map[string]string
	// files are those of the Secrets and ConfigMaps that exist: paths here, by the
	// name of the one and the key in it.
	files map[string]map[string]string
}

// linking is held by who runs the program that renders: the next one finds it linked.
var linking sync.Mutex

// rendering begins to render the chart for a file of values, which takes a while where
// the program is still to be built. What it returns waits for the manifests.
func rendering(t *testing.T, values string) (manifests func() []object) {
	t.Helper()
	root, err := testkit.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "./render", values)
	cmd.Dir = filepath.Join(root, "tests", "contract", "chart")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	ended := make(chan error, 1)
	go func() {
		linking.Lock()
		defer linking.Unlock()
		ended <- cmd.Run()
	}()
	return func() []object {
		t.Helper()
		if err := <-ended; err != nil {
			t.Fatalf("rendering %s: %v\n%s", values, err, &said)
		}
		return decoded(t, &out)
	}
}

func decoded(t *testing.T, manifests io.Reader) []object {
	t.Helper()
	var all []object
	for docs := yaml.NewDecoder(manifests); ; {
		var node yaml.Node
		if err := docs.Decode(&node); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		var o object
		if err := errors.Join(node.Decode(&o), node.Decode(&o.raw)); err != nil {
			t.Fatal(err)
		}
		if o.Kind != "" {
			all = append(all, o)
		}
	}
}

func ofKind(objects []object, kinds ...string) []object {
	var out []object
	for _, o := range objects {
		if slices.Contains(kinds, o.Kind) {
			out = append(out, o)
		}
	}
	return out
}

// jobs returns the Jobs in the order in which Helm runs them.
func jobs(objects []object) []object {
	out := ofKind(objects, "Job")
	order := func(o object) (before, weight int) {
		if strings.HasPrefix(o.Metadata.Annotations["helm.sh/hook"], "post-") {
			before = 1
		}
		weight, _ = strconv.Atoi(o.Metadata.Annotations["helm.sh/hook-weight"])
		return before, weight
	}
	slices.SortFunc(out, func(a, b object) int {
		x, v := order(a)
		y, w := order(b)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(v, w))
	})
	return out
}

// settings returns the variables of a pod's program without the prefix MILLRACE_,
// with those that this machine decides in place of the manifest's. Of a server that the
// manifest gives the pod nothing about, this machine tells it nothing either.
func (o *object) settings(t *testing.T, here machine) map[string]string {
	t.Helper()
	c := o.Spec.Template.Spec.Containers[0]
	env, parts := map[string]string{}, map[string]bool{}
	fields := map[string]string{"metadata.name": o.Metadata.Name + "-0", "metadata.namespace": namespace}
	references := []string{"$$", "$"} // as the kubelet replaces them, by what stands before
	for _, e := range c.Env {
		name, ours := strings.CutPrefix(e.Name, "MILLRACE_")
		_, replaced := here.settings[name]
		value := strings.NewReplacer(references...).Replace(e.Value)
		switch {
		case e.ValueFrom.FieldRef.FieldPath != "":
			value = fields[e.ValueFrom.FieldRef.FieldPath]
		case !ours:
			continue
		case strings.HasSuffix(name, "_FILE"):
			value = o.file(t, value, here)
		case e.ValueFrom.SecretKeyRef.Name != "" && !replaced:
			t.Fatalf("%s takes %s from a Secret, and nothing stands for it here", c.Name, e.Name)
		}
		references = append(references, "$("+e.Name+")", value)
		if ours {
			env[name] = value
			parts[part(name)] = true
		}
	}
	for name, value := range here.settings {
		if parts[part(name)] {
			env[name] = value
		}
	}
	return env
}

// part is what a setting is of, such as KAFKA.
func part(name string) string {
	of, _, _ := strings.Cut(name, "_")
	return of
}

// file returns where on this machine the file is that a pod finds at a path.
func (o *object) file(t *testing.T, path string, here machine) string {
	t.Helper()
	pod := o.Spec.Template.Spec
	for _, m := range pod.Containers[0].VolumeMounts {
		i := slices.IndexFunc(pod.Volumes, func(v volume) bool { return v.Name == m.Name })
		if i < 0 || m.MountPath != filepath.Dir(path) {
			continue
		}
		if file := here.files[cmp.Or(pod.Volumes[i].Secret.Name,
			pod.Volumes[i].ConfigMap.Name)][filepath.Base(path)]; file != "" {
			return file
		}
	}
	t.Fatalf("%s has no file at %s", o.Metadata.Name, path)
	return ""
}
