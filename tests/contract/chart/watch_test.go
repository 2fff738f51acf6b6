package chart_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/millrace/millrace/tests/contract/chart/rendering"
)

// alone is an installation whose daemons are all in one namespace.
const alone = `{"metrics": {"prometheusRule": {"namespaces": []}}}`

// What kube-state-metrics says of autoscalers goes by their names, which are the
// release's.
func TestTheAlertOnTheAutoscalerAsksForTheOneThatThereIs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"production", "everything"} {
		objects := objectsWith(t, name, alone)
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

var (
	series  = regexp.MustCompile(`millrace[_:][a-z0-9_:]+|process_[a-z_]+`)
	ofOwn   = fmt.Sprintf("{namespace=%q", rendering.Namespace)
	wasBare = strings.NewReplacer(ofOwn+"}", "", ofOwn+",", "{")
)

// Two releases that one Prometheus scrapes must not hide each other's trouble, nor write to one
// series.
func TestRulesAreAboutTheReleasesOwnSeries(t *testing.T) {
	t.Parallel()
	rendered := rulesOf(t, objectsWith(t, "everything", alone))
	var files []map[string]any
	for _, name := range []string{"alerts.yaml", "slo.yaml"} {
		text, err := os.ReadFile("../../../deploy/helm/millrace/files/rules/" + name)
		var content map[string]any
		if err == nil {
			err = yaml.Unmarshal(text, &content)
		}
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, rulesIn(t, content)...)
	}
	if len(rendered) != len(files) || len(files) < 100 {
		t.Fatalf("%d rules are rendered of %d", len(rendered), len(files))
	}
	for i, rule := range rendered {
		name, expr := cmp.Or(rule["alert"], rule["record"]), rule["expr"].(string)
		for _, at := range series.FindAllStringIndex(expr, -1) {
			if !strings.HasPrefix(expr[at[1]:], ofOwn) {
				t.Errorf("%s asks for the series of every release: %s", name, expr[at[0]:])
			}
		}
		if was := files[i]["expr"].(string); wasBare.Replace(expr) != was && name != "MillraceAutoscalerAtMax" {
			t.Errorf("%s asks\n%s\nwhich is not, of one release,\n%s", name, expr, was)
		}
		labels, _ := rule["labels"].(map[string]any)
		if had, _ := files[i]["labels"].(map[string]any); labels["namespace"] != rendering.Namespace ||
			len(labels) != len(had)+1 {
			t.Errorf("%s has the labels %v", name, labels)
		}
	}
}

// An alert that something is missing would fire for ever where it is not meant to run.
func TestNobodyMissesWhatTheInstallationDoesNotRun(t *testing.T) {
	t.Parallel()
	const sinksAlone = `"config": {"ingest": {"public_url": ""}, "query": {"public_url": ""}},
		"edge": {"enabled": false}, "query": {"enabled": false}, `
	missing := []any{"MillraceEdgeAbsent", "MillraceSinkAbsent", "MillraceTopicNotRead", "MillraceQueryAbsent"}
	for _, tt := range []struct {
		name, file, over, more string
		want                   []any
	}{
		{"all", "minimal", "", "", missing},
		{"sinks alone", "minimal", sinksAlone, "", missing[1:3]},
		{"sinks elsewhere", "minimal", `"sink": {"enabled": false}, `, "", []any{missing[0], missing[3]}},
		{"sinks alone, and hosts elsewhere", "minimal", sinksAlone, `, "namespaces": ["hosts"]`, missing},
		{"all in one", "standalone", `"edge": {"enabled": false}, `, "", missing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rules := rulesOf(t, objectsWith(t, tt.file,
				`{`+tt.over+`"metrics": {"prometheusRule": {"enabled": true`+tt.more+`}}}`))
			if len(rules) < 100 {
				t.Errorf("there are %d rules", len(rules))
			}
			var got []any
			for _, rule := range rules {
				if slices.Contains(missing, rule["alert"]) {
					got = append(got, rule["alert"])
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("the rules miss %v, want %v", got, tt.want)
			}
		})
	}
}

// Daemons of one installation may be in several namespaces, released apart.
func TestRulesAreAboutEveryNamespaceOfAnInstallation(t *testing.T) {
	t.Parallel()
	const of = `{namespace=~"analytics|hosts"`
	objects := objectsWith(t, "production",
		`{"metrics": {"prometheusRule": {"enabled": true, "namespaces": ["analytics", "hosts"]}}}`)
	for _, rule := range rulesOf(t, objects) {
		expr := rule["expr"].(string)
		for _, at := range series.FindAllStringIndex(expr, -1) {
			if !strings.HasPrefix(expr[at[1]:], of) {
				t.Errorf("%v asks for %s", cmp.Or(rule["alert"], rule["record"]), expr[at[0]:])
			}
		}
		// What a rule records is one of the series that others ask for.
		if labels := rule["labels"].(map[string]any); labels["namespace"] != rendering.Namespace {
			t.Errorf("%v has the labels %v", cmp.Or(rule["alert"], rule["record"]), labels)
		}
	}
	const scaler = of + `,horizontalpodautoscaler=~"millrace-edge|.*millrace.*-edge"}`
	if expr := exprOf(t, objects, "MillraceAutoscalerAtMax"); strings.Count(expr, scaler) != 2 {
		t.Errorf("the alert on the autoscaler asks %s", expr)
	}
	c, err := rendering.Load()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rendering.Render(c, with(t, "minimal",
		`{"metrics": {"prometheusRule": {"namespaces": [".*"]}}}`)); err == nil {
		t.Error("a pattern is taken for a namespace")
	}
}

// An import may take as long as it likes, so nobody is paged for the lag of its pipeline, and nothing scaled.
func TestTheRecipeScalesByTheLagThatPeopleArePagedFor(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../../docs/guides/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	recipe := regexp.MustCompile(`query: max\((millrace_sink_lag_seconds\{.*\})\)`).FindSubmatch(guide)
	if recipe == nil {
		t.Fatal("the guide has no recipe")
	}
	expr := exprOf(t, objectsOf(t, "production"), "MillraceSinkLagHigh")
	if !strings.Contains(expr, string(recipe[1])) {
		t.Errorf("the recipe asks for %s, the alert for %s", recipe[1], expr)
	}
}

// A ServiceMonitor names a Service by its labels, which names pods by theirs.
func TestEveryDaemonsMetricsAreRead(t *testing.T) {
	t.Parallel()
	for file, interval := range map[string]string{"production": "15s", "everything": "30s"} {
		objects := objectsOf(t, file)
		at := slices.IndexFunc(objects, func(o unstructured.Unstructured) bool { return o.GetKind() == "ServiceMonitor" })
		if at < 0 {
			t.Fatalf("%s has no ServiceMonitor", file)
		}
		monitor := into[struct {
			Spec struct {
				Selector  metav1.LabelSelector `json:"selector"`
				Endpoints []struct {
					Port     string `json:"port"`
					Path     string `json:"path"`
					Interval string `json:"interval"`
				} `json:"endpoints"`
			} `json:"spec"`
		}](t, &objects[at])
		read := map[string]bool{}
		for i := range objects {
			chosen := labels.SelectorFromSet(monitor.Spec.Selector.MatchLabels).Matches(labels.Set(objects[i].GetLabels()))
			if objects[i].GetKind() != "Service" || !chosen {
				continue
			}
			service := into[corev1.Service](t, &objects[i])
			for _, w := range workloadsOf(t, objects) {
				ports := w.container().Ports
				serves := slices.ContainsFunc(ports, func(p corev1.ContainerPort) bool {
					return p.Name == service.Spec.Ports[0].TargetPort.String()
				})
				if serves && labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(w.pod.Labels)) {
					read[w.container().Name] = true
				}
			}
			if e := monitor.Spec.Endpoints; len(e) != 1 || e[0].Port != service.Spec.Ports[0].Name ||
				e[0].Path != "/metrics" || e[0].Interval != interval {
				t.Errorf("%s: %+v are read of the Service's %+v", file, e, service.Spec.Ports)
			}
		}
		if got := slices.Sorted(maps.Keys(read)); !slices.Equal(got, []string{"edge", "query", "sink"}) {
			t.Errorf("%s: the metrics of %q are read", file, got)
		}
	}
}

func TestEachDashboardIsInAConfigMapThatGrafanasSidecarFinds(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../deploy/grafana/*.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("there are the dashboards %q, %v", files, err)
	}
	objects := objectsOf(t, "production")
	for _, file := range files {
		name := filepath.Base(file)
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		o := find(t, objects, "ConfigMap", "millrace-dashboard-"+strings.TrimSuffix(name, ".json"))
		if got := into[corev1.ConfigMap](t, o); got.Labels["grafana_dashboard"] != "1" || got.Data[name] != string(want) {
			t.Errorf("the ConfigMap %s has the labels %v, and %d bytes of %s", got.Name, got.Labels, len(got.Data[name]), name)
		}
	}
}

// exprOf returns the expression of an alert.
func exprOf(t *testing.T, objects []unstructured.Unstructured, alert string) string {
	t.Helper()
	for _, rule := range rulesOf(t, objects) {
		if rule["alert"] == alert {
			return rule["expr"].(string)
		}
	}
	t.Fatalf("there is no alert %s", alert)
	return ""
}

func rulesOf(t *testing.T, objects []unstructured.Unstructured) (all []map[string]any) {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == "PrometheusRule" {
			spec, _, err := unstructured.NestedMap(o.Object, "spec")
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, rulesIn(t, spec)...)
		}
	}
	return all
}

// rulesIn returns the rules of what has groups.
func rulesIn(t *testing.T, content map[string]any) (all []map[string]any) {
	t.Helper()
	for _, group := range content["groups"].([]any) {
		for _, rule := range group.(map[string]any)["rules"].([]any) {
			all = append(all, rule.(map[string]any))
		}
	}
	return all
}
