package chart_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/millrace/millrace/tests/contract/chart/rendering"
)

// eachFile runs a test for each file of values, and for those of the README.
func eachFile(t *testing.T, body func(t *testing.T, name string, objects []unstructured.Unstructured)) {
	t.Helper()
	names, err := rendering.Names()
	if err != nil || len(names) < 6 {
		t.Fatalf("the files of values are %v, %v", names, err)
	}
	for _, name := range append(names, rendering.Readme) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body(t, name, objectsOf(t, name))
		})
	}
}

func objectsOf(t *testing.T, name string) []unstructured.Unstructured {
	t.Helper()
	r, err := rendering.RenderFile(name)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := rendering.Objects(r)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestEveryFileRendersIntoObjectsThatKubernetesKnows(t *testing.T) {
	t.Parallel()
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	eachFile(t, func(t *testing.T, _ string, objects []unstructured.Unstructured) {
		seen := map[string]bool{}
		for _, o := range objects {
			name := o.GetKind() + " " + o.GetName()
			if seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
			if !scheme.Scheme.Recognizes(o.GroupVersionKind()) { // custom resources; the API server judges them
				continue
			}
			text, err := yaml.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := strict.Decode(text, nil, nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestEveryObjectSaysWhatItBelongsTo(t *testing.T) {
	t.Parallel()
	eachFile(t, func(t *testing.T, _ string, objects []unstructured.Unstructured) {
		for _, o := range objects {
			labels := o.GetLabels()
			for _, label := range []string{
				"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/component",
				"app.kubernetes.io/version", "helm.sh/chart",
			} {
				if labels[label] == "" {
					t.Errorf("%s %s has no label %s", o.GetKind(), o.GetName(), label)
				}
			}
			if o.GetNamespace() != rendering.Namespace {
				t.Errorf("%s %s is in namespace %q", o.GetKind(), o.GetName(), o.GetNamespace())
			}
		}
	})
}

// Labels that stand twice are rejected by tools such as kustomize, and what selects pods cannot change.
func TestLabelsOfOnesOwnStandInPlaceOfTheChartsButWhatSelects(t *testing.T) {
	t.Parallel()
	const own = `{"app.kubernetes.io/part-of": "shop", "app.kubernetes.io/component": "mine", "team": "a"}`
	objects := objectsWith(t, "everything", `{"commonLabels": `+own+`,
		"edge": {"podLabels": {"app.kubernetes.io/version": "7", "app.kubernetes.io/name": "mine", "team": "b"}},
		"metrics": {"dashboards": {"labels": {"app.kubernetes.io/part-of": "grafana"}}}}`)
	for _, o := range objects {
		labels := o.GetLabels()
		want := "shop"
		if o.GetKind() == "ConfigMap" {
			want = "grafana"
		}
		if labels["app.kubernetes.io/part-of"] != want || labels["app.kubernetes.io/component"] == "mine" ||
			labels["team"] != "a" || labels["app.kubernetes.io/managed-by"] != "Helm" {
			t.Errorf("%s %s: labels %v", o.GetKind(), o.GetName(), labels)
		}
	}
	edge := find(t, objects, "Deployment", "shop-analytics-edge")
	got, _, _ := unstructured.NestedStringMap(edge.Object, "spec", "template", "metadata", "labels")
	for label, want := range map[string]string{
		"app.kubernetes.io/name": "analytics", "app.kubernetes.io/component": "edge", "app.kubernetes.io/version": "7",
		"app.kubernetes.io/part-of": "shop", "team": "b",
	} {
		if got[label] != want {
			t.Errorf("the edge's pods have %s=%q, want %q", label, got[label], want)
		}
	}
}

func TestTheChartHoldsNoSecret(t *testing.T) {
	t.Parallel()
	eachFile(t, func(t *testing.T, _ string, objects []unstructured.Unstructured) {
		for _, o := range objects {
			if o.GetKind() != "Secret" {
				continue
			}
			if o.Object["data"] != nil || o.Object["stringData"] != nil ||
				o.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
				t.Errorf("Secret %s is not the empty one that the bootstrap job fills: %v", o.GetName(), o.Object)
			}
		}
	})
}

// workload is a pod template and what it belongs to.
type workload struct {
	kind, name string
	pod        corev1.PodTemplateSpec
	object     unstructured.Unstructured
}

func (w *workload) container() *corev1.Container { return &w.pod.Spec.Containers[0] }

func workloadsOf(t *testing.T, objects []unstructured.Unstructured) []workload {
	t.Helper()
	var out []workload
	for _, o := range objects {
		if !slices.Contains([]string{"Deployment", "StatefulSet", "Job"}, o.GetKind()) {
			continue
		}
		template, _, err := unstructured.NestedMap(o.Object, "spec", "template")
		if err != nil {
			t.Fatal(err)
		}
		w := workload{kind: o.GetKind(), name: o.GetName(), object: o}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &w.pod); err != nil {
			t.Fatal(err)
		}
		out = append(out, w)
	}
	return out
}

func TestNotesSendTheFirstEventToServicesThatAreThere(t *testing.T) {
	t.Parallel()
	const (
		send = "/track?website_id=$WEBSITE_ID"
		ask  = "/v1/query?website_id=$WEBSITE_ID"
	)
	for _, tt := range []struct {
		name, file, over string
		want             []string
	}{
		{"minimal", "minimal", `{}`, []string{send, ask}},
		{"README", rendering.Readme, `{}`, []string{send, ask}},
		{"production", "production", `{}`, []string{send, ask}},
		{"external", "external", `{}`, []string{send, ask}},
		{"air-gapped", "air-gapped", `{}`, []string{send, ask}},
		{"everything", "everything", `{}`, []string{send, ask}},
		{"standalone", "standalone", `{"edge": {"enabled": false}, "query": {"enabled": false}}`, []string{send, ask}},
		{"no edge", "minimal", `{"edge": {"enabled": false}}`, []string{ask}},
		{"no query host", "minimal", `{"query": {"enabled": false}}`, []string{send}},
		{"sinks alone", "minimal", `{"edge": {"enabled": false}, "query": {"enabled": false}}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := releaseWith(t, tt.file, tt.over)
			objects, err := rendering.Objects(r)
			if err != nil {
				t.Fatal(err)
			}
			services := map[string]bool{}
			for _, o := range objects {
				if o.GetKind() == "Service" {
					services[o.GetName()] = true
				}
			}
			var sent []string
			forwards := 0
			for line := range strings.Lines(r.Info.Notes) {
				if _, rest, ok := strings.Cut(line, "port-forward service/"); ok {
					forwards++
					if service, _, _ := strings.Cut(rest, " "); !services[service] {
						t.Errorf("the notes forward to %s; there are %v", service, slices.Sorted(maps.Keys(services)))
					}
				}
				for _, path := range []string{send, ask} {
					if strings.Contains(line, path) {
						sent = append(sent, path)
					}
				}
			}
			if !slices.Equal(sent, tt.want) || forwards != len(tt.want) || !strings.Contains(r.Info.Notes, "API_KEY=") {
				t.Errorf("the notes forward %d ports and call %q, want %q:\n%s", forwards, sent, tt.want, r.Info.Notes)
			}
		})
	}
}
