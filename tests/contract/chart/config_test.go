package chart_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/millrace/millrace/tests/contract/chart/rendering"
)

var programsDir string

func TestMain(m *testing.M) {
	code := m.Run()
	if programsDir != "" {
		os.RemoveAll(programsDir)
	}
	os.Exit(code)
}

// programs returns the folder of the daemons: of those that whoever runs the tests has
// built, else of those that are built for this test binary.
var programs = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv("MILLRACE_TEST_PROGRAMS"); dir != "" {
		return dir, nil
	}
	root, err := rendering.Root()
	if err != nil {
		return "", err
	}
	if programsDir, err = os.MkdirTemp("", "millrace-chart-"); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(context.Background(), "go", "build", "-o", programsDir+"/", "./cmd/...")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the daemons: %w\n%s", err, out)
	}
	return programsDir, nil
})

// secretValues are what the Secrets of the files of values would hold, by the
// variable that takes them.
var secretValues = map[string]string{
	"MILLRACE_STORE_URL": "postgres://millrace@postgres/millrace",
	"MILLRACE_REDIS_URL": "rediss://redis:6379/0",
}

// environment is what a container's program would find in a namespace.
func environment(c *corev1.Container, namespace string) []string {
	var env []string
	fields := map[string]string{"metadata.name": "millrace-sink-0", "metadata.namespace": namespace}
	references := []string{"$$", "$"} // as the kubelet replaces them, by what stands before
	for _, e := range c.Env {
		value := strings.NewReplacer(references...).Replace(e.Value)
		switch {
		case e.ValueFrom == nil:
		case e.ValueFrom.SecretKeyRef != nil:
			if value = secretValues[e.Name]; value == "" {
				value = "secret"
			}
		case e.ValueFrom.FieldRef != nil:
			value = fields[e.ValueFrom.FieldRef.FieldPath]
		case e.ValueFrom.ResourceFieldRef != nil:
			value = strconv.FormatInt(c.Resources.Limits.Cpu().Value(), 10) // rounded up, as the kubelet does
		}
		env = append(env, e.Name+"="+value)
		references = append(references, "$("+e.Name+")", value)
	}
	return env
}

func TestEveryRenderedConfigPassesTheDaemonsOwnCheck(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out under -short: builds the daemons")
	}
	eachFile(t, func(t *testing.T, _ string, objects []unstructured.Unstructured) {
		dir, err := programs()
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range workloadsOf(t, objects) {
			c := w.container()
			program := "millrace" // the entrypoint of the standalone image
			if len(c.Command) > 0 {
				program = filepath.Base(c.Command[0])
			}
			cmd := exec.CommandContext(t.Context(), filepath.Join(dir, program), append(c.Args, "--config.check")...)
			cmd.Env = environment(c, rendering.Namespace)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Run(); err != nil || strings.TrimSpace(out.String()) != "ok" {
				t.Errorf("%s %s: %v\n%s", w.kind, w.name, err, &out)
			}
		}
	})
}
