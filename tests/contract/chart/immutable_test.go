package chart_test

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write testdata/immutable.yaml; only for a chart that nobody can upgrade to")

// immutable lists the fields that the API server lets nobody change.
var immutable = map[string][][]string{
	"Deployment": {{"spec", "selector"}},
	"StatefulSet": {
		{"spec", "selector"}, {"spec", "serviceName"}, {"spec", "podManagementPolicy"}, {"spec", "volumeClaimTemplates"},
	},
	"Service":     {{"spec", "clusterIP"}},
	"RoleBinding": {{"roleRef"}},
}

// The file holds these fields as the first version of the chart had them: what
// changes there breaks every upgrade.
func TestImmutableFieldsAreThoseOfThePreviousVersion(t *testing.T) {
	t.Parallel()
	got := map[string]any{}
	for _, name := range []string{"everything", "production", "standalone"} {
		for _, o := range objectsOf(t, name) {
			for _, path := range immutable[o.GetKind()] {
				if value, ok, err := unstructured.NestedFieldCopy(o.Object, path...); ok && err == nil {
					got[name+" "+o.GetKind()+" "+o.GetName()+" "+strings.Join(path, ".")] = value
				}
			}
		}
	}
	path := filepath.Join("testdata", "immutable.yaml")
	if *update {
		text, err := yaml.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{}
	if err := yaml.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		was, err := yaml.Marshal(want[key])
		if err != nil {
			t.Fatal(err)
		}
		is, err := yaml.Marshal(got[key])
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(was, is) {
			t.Errorf("%s was\n%s\nand is\n%s", key, was, is)
		}
	}
}
