package chart_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// into reads an object as one of a type of Kubernetes' own.
func into[T any](t *testing.T, o *unstructured.Unstructured) *T {
	t.Helper()
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// selects reports whether a selector is of the pods of a workload.
func selects(t *testing.T, selector *metav1.LabelSelector, w *workload) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return s.Matches(labels.Set(w.pod.Labels))
}

func TestTheAutoscalerLooksAtProcessorTimeAndRequestsInFlight(t *testing.T) {
	t.Parallel()
	const inFlight = "millrace_http_requests_in_flight "
	for _, tt := range []struct {
		file, over, name string
		least, most      int32
		want             []string
	}{
		{"production", `{}`, "millrace-edge", 3, 24, []string{"cpu 65", inFlight + "400"}},
		{"everything", `{}`, "shop-analytics-edge", 2, 10, []string{"cpu 65", inFlight + "200"}},
		{
			"production", `{"edge": {"autoscaling": {"cpuPercent": 80, "inFlight": 0}}}`, "millrace-edge", 3, 24,
			[]string{"cpu 80"},
		},
		{
			"production", `{"edge": {"autoscaling": {"cpuPercent": 0, "inFlightMetric": "in_flight"}}}`,
			"millrace-edge", 3, 24,
			[]string{"in_flight 400"},
		},
	} {
		objects := objectsWith(t, tt.file, tt.over)
		find(t, objects, "Deployment", tt.name)
		scaler := into[autoscalingv2.HorizontalPodAutoscaler](t, find(t, objects, "HorizontalPodAutoscaler", tt.name))
		var got []string
		for _, m := range scaler.Spec.Metrics {
			switch {
			case m.Resource != nil:
				got = append(got, fmt.Sprintf("%s %d", m.Resource.Name, *m.Resource.Target.AverageUtilization))
			case m.Pods != nil:
				got = append(got, m.Pods.Metric.Name+" "+m.Pods.Target.AverageValue.String())
			}
		}
		spec := scaler.Spec
		if !slices.Equal(got, tt.want) || *spec.MinReplicas != tt.least || spec.MaxReplicas != tt.most ||
			spec.ScaleTargetRef.Kind != "Deployment" || spec.ScaleTargetRef.Name != tt.name {
			t.Errorf("%s, %s: the autoscaler of %+v looks at %q, want %q", tt.file, tt.over, spec.ScaleTargetRef, got, tt.want)
		}
	}
}

// A drained node takes one pod of each kind at a time; of a single one nothing could be kept.
func TestWhatHasSeveralPodsHasABudgetOfItsOwn(t *testing.T) {
	t.Parallel()
	for file, want := range map[string][]string{
		"production": {"millrace-edge", "millrace-query", "millrace-sink"}, "minimal": nil, "air-gapped": {"millrace-edge"},
		"everything": {"shop-analytics-edge", "shop-analytics-query", "shop-analytics-sink"}, "standalone": nil,
	} {
		objects, of := objectsOf(t, file), map[string]bool{}
		workloads := workloadsOf(t, objects)
		for i := range objects {
			if objects[i].GetKind() != "PodDisruptionBudget" {
				continue
			}
			budget := into[policyv1.PodDisruptionBudget](t, &objects[i])
			of[budget.Name] = true
			if budget.Spec.MaxUnavailable.String() != "1" {
				t.Errorf("%s: %s lets %s pods go", file, budget.Name, budget.Spec.MaxUnavailable)
			}
			for j := range workloads {
				w := &workloads[j]
				if selects(t, budget.Spec.Selector, w) != (w.name == budget.Name) {
					t.Errorf("%s: the budget %s goes by %v, and %s has %v",
						file, budget.Name, budget.Spec.Selector, w.name, w.pod.Labels)
				}
			}
		}
		if got := slices.Sorted(maps.Keys(of)); !slices.Equal(got, want) {
			t.Errorf("%s: there are budgets of %q, want %q", file, got, want)
		}
	}
}

func TestPodsAreSpreadOverNodesAndZones(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]map[string]string{
		"production": {"millrace-edge": nodesAndZones, "millrace-sink": nodesAndZones, "millrace-query": nodesAndZones},
		"everything": {
			"shop-analytics-edge": "topology.kubernetes.io/zone DoNotSchedule", // its own
			"shop-analytics-sink": nodesAndZones, "shop-analytics-query": nodesAndZones,
		},
	} {
		for _, w := range workloadsOf(t, objectsOf(t, file)) {
			if want[w.name] == "" {
				continue // a Job, or one that has one pod always
			}
			var got []string
			for _, c := range w.pod.Spec.TopologySpreadConstraints {
				got = append(got, c.TopologyKey+" "+string(c.WhenUnsatisfiable))
				if c.MaxSkew != 1 || !selects(t, c.LabelSelector, &w) {
					t.Errorf("%s: %s is spread by %+v", file, w.name, c)
				}
			}
			if strings.Join(got, ", ") != want[w.name] {
				t.Errorf("%s: %s is spread by %q, want %q", file, w.name, got, want[w.name])
			}
			delete(want, w.name)
		}
		if len(want) > 0 {
			t.Errorf("%s: there is no %v", file, slices.Sorted(maps.Keys(want)))
		}
	}
}

const nodesAndZones = corev1.LabelHostname + " ScheduleAnyway, " + corev1.LabelTopologyZone + " ScheduleAnyway"
