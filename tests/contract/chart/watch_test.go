package chart_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/millrace/millrace/tests/contract/chart/rendering"
)

// What kube-state-metrics says of autoscalers goes by their names, which are the
// release's.
func TestTheAlertOnTheAutoscalerAsksForTheOneThatThereIs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"production", "everything"} {
		objects := objectsOf(t, name)
		at := slices.IndexFunc(objects,
			func(o unstructured.Unstructured) bool { return o.GetKind() == "HorizontalPodAutoscaler" })
		if at < 0 {
			t.Fatalf("%s has no autoscaler", name)
		}
		want := fmt.Sprintf("{namespace=%q,horizontalpodautoscaler=%q}", rendering.Namespace, objects[at].GetName())
		expr := exprOf(t, objects, "MillraceAutoscalerAtMax")
		if strings.Count(expr, want) != 2 || strings.Count(expr, "{") != 2 {
			t.Errorf("%s: the alert asks %s, want it to ask for %s", name, expr, want)
		}
	}
}

// The alerts on the whole path say nothing of an installation that probes nothing.
func TestWhereAlertsAreMadeTheProbeIsOn(t *testing.T) {
	t.Parallel()
	eachFile(t, func(t *testing.T, name string, objects []unstructured.Unstructured) {
		if !slices.ContainsFunc(objects, func(o unstructured.Unstructured) bool { return o.GetKind() == "PrometheusRule" }) {
			return
		}
		values, err := rendering.Values(name)
		if err != nil {
			t.Fatal(err)
		}
		interval, _, err := unstructured.NestedString(values, "config", "probe", "interval")
		if err != nil || !strings.ContainsAny(interval, "123456789") {
			t.Errorf("probe.interval is %q, %v", interval, err)
		}
	})
}

// exprOf returns the expression of an alert.
func exprOf(t *testing.T, objects []unstructured.Unstructured, alert string) string {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() != "PrometheusRule" {
			continue
		}
		groups, _, err := unstructured.NestedSlice(o.Object, "spec", "groups")
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			rules, _, err := unstructured.NestedSlice(g.(map[string]any), "rules")
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rules {
				if rule := r.(map[string]any); rule["alert"] == alert {
					return rule["expr"].(string)
				}
			}
		}
	}
	t.Fatalf("there is no alert %s", alert)
	return ""
}
