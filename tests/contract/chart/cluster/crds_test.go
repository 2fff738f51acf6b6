package cluster

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	crdclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"
)

// definitions are the custom resources that the chart uses, as the modules of their
// projects ship them, each checked against the sum that it had when it was chosen.
var definitions = []struct{ module, sum, file string }{
	{
		"github.com/prometheus-operator/prometheus-operator@v0.85.0", "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
		"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
	},
	{
		"github.com/prometheus-operator/prometheus-operator@v0.85.0", "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
		"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
	},
	{
		"sigs.k8s.io/gateway-api@v1.4.0", "h1:ZwlNM6zOHq0h3WUX2gfByPs2yAEsy/EenYJB78jpQfQ=",
		"config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
	},
}

// applyCRDs makes the custom resources and waits until they are served.
func applyCRDs(t *testing.T) {
	t.Helper()
	client := clientset.NewForConfigOrDie(server).ApiextensionsV1().CustomResourceDefinitions()
	for _, d := range definitions {
		text, err := os.ReadFile(filepath.Join(moduleDir(t, d.module, d.sum), d.file))
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensions.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		// A test that runs again finds them, as they are.
		if _, err := client.Create(t.Context(), &crd, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		waitEstablished(t, client, crd.Name)
	}
}

// waitEstablished returns when a custom resource is served.
func waitEstablished(t *testing.T, client crdclient.CustomResourceDefinitionInterface, name string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true,
		func(ctx context.Context) (bool, error) {
			crd, err := client.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensions.CustomResourceDefinitionCondition) bool {
				return c.Type == apiextensions.Established && c.Status == apiextensions.ConditionTrue
			}), nil
		})
	if err != nil {
		t.Fatalf("waiting for %s to be served: %v", name, err)
	}
}

// moduleDir returns the folder of a module, fetched when it is not there yet.
func moduleDir(t *testing.T, module, sum string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module).Output()
	if err != nil {
		t.Fatalf("fetching %s: %v\n%s", module, err, out)
	}
	var got struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if got.Sum != sum {
		t.Fatalf("%s has the sum %s, want %s", module, got.Sum, sum)
	}
	return got.Dir
}
