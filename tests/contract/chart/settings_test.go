package chart_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestSettingsAreWrittenInFull(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"MILLRACE_KAFKA_MAX_BUFFERED_BYTES": "536870912",
		"MILLRACE_KAFKA_BROKERS":            "kafka-0.kafka:9093,kafka-1.kafka:9093",
		"MILLRACE_KAFKA_TLS_ENABLED":        "true",
		"MILLRACE_SINK_DEAD_LETTER_LIMIT":   "0.05",
		"MILLRACE_QUOTA_DEFAULT":            "100000000",
	} {
		for _, w := range workloadsOf(t, objectsOf(t, "everything")) {
			if c := w.container().Name; c == "migrate" || c == "bootstrap" { // which do not ask Kafka
				continue
			}
			if got := variable(w.container(), name).Value; got != want {
				t.Errorf("%s of %s is %q, want %q", name, w.name, got, want)
			}
		}
	}
}

// What an object beside them held would be changed under pods of the version before: one that starts
// again meets a setting that it does not know, and ends.
func TestSettingsStandInThePods(t *testing.T) {
	t.Parallel()
	eachFile(t, func(t *testing.T, _ string, objects []unstructured.Unstructured) {
		for _, w := range workloadsOf(t, objects) {
			if w.container().EnvFrom != nil || variable(w.container(), "MILLRACE_ADMIN_LISTEN").Value != ":9464" {
				t.Errorf("%s %s has its settings from %+v", w.kind, w.name, w.container().EnvFrom)
			}
		}
	})
}

func TestAVariableOfOnesOwnStandsInPlaceOfTheSetting(t *testing.T) {
	t.Parallel()
	const own = `{"extraEnv": [{"name": "MILLRACE_LOG_LEVEL", "value": "warn"}, {"name": "GOMEMLIMIT", "value": "1GiB"},
		{"name": "MILLRACE_STORE_URL", "value": "postgres://edge@postgres/millrace"}]}`
	for _, file := range []string{"production", "standalone"} {
		objects := objectsWith(t, file, `{"config": {"log": {"level": "debug"}, "clickhouse": {"user": "a$(HOME)$$"}},
			"edge": `+own+`, "jobs": `+own+`, "standalone": `+own+`}`)
		for _, w := range workloadsOf(t, objects) {
			names := map[string]bool{}
			for _, e := range w.container().Env {
				if names[e.Name] {
					t.Errorf("%s has %s twice", w.name, e.Name)
				}
				names[e.Name] = true
			}
			want := "warn"
			if c := w.container().Name; c == "sink" || c == "query" {
				want = "debug"
			}
			if got := variable(w.container(), "MILLRACE_LOG_LEVEL").Value; got != want {
				t.Errorf("MILLRACE_LOG_LEVEL of %s is %q, want %q", w.name, got, want)
			}
			// A name in brackets after a single dollar sign is a variable of the container.
			user := "a$$(HOME)$$$$"
			if !slices.Contains([]string{"sink", "query", "migrate", "standalone"}, w.container().Name) {
				user = ""
			}
			if got := variable(w.container(), "MILLRACE_CLICKHOUSE_USER").Value; got != user {
				t.Errorf("MILLRACE_CLICKHOUSE_USER of %s is %q", w.name, got)
			}
		}
	}
}

// Whoever gets into a pod, such as the edge's that the internet reaches, finds what that one uses and nothing else.
func TestAPodHasWhatItUsesAndNoMore(t *testing.T) {
	t.Parallel()
	all := []string{"BILLING", "CLICKHOUSE", "KAFKA", "MAIL", "REDIS", "STORE"}
	uses := map[string][]string{
		"edge": {"BILLING", "KAFKA", "REDIS", "STORE"}, "sink": {"CLICKHOUSE", "KAFKA"}, "query": all,
		"migrate": {"CLICKHOUSE", "STORE"}, "topics": {"KAFKA"}, "bootstrap": {"STORE"}, "operator": all,
	}
	for _, w := range workloadsOf(t, objectsOf(t, "everything")) {
		given := map[string]bool{}
		for _, e := range w.container().Env {
			server, _, _ := strings.Cut(strings.TrimPrefix(e.Name, "MILLRACE_"), "_")
			given[server] = given[server] || slices.Contains(all, server)
		}
		for _, v := range w.pod.Spec.Volumes {
			server, _, _ := strings.Cut(strings.ToUpper(v.Name), "-")
			given[server] = given[server] || slices.Contains(all, server)
		}
		maps.DeleteFunc(given, func(_ string, is bool) bool { return !is })
		name := w.container().Name
		if got := slices.Sorted(maps.Keys(given)); !slices.Equal(got, uses[name]) {
			t.Errorf("%s has what is for %v, want %v", name, got, uses[name])
		}
		if token := variable(w.container(), "MILLRACE_BILLING_TOKEN"); (token.ValueFrom != nil) !=
			(name == "edge" || name == "operator") {
			t.Errorf("the token of the billing service of %s is %+v", name, token)
		}
		delete(uses, name)
	}
	if len(uses) > 0 {
		t.Errorf("nothing is rendered of %v", uses)
	}
}

func TestChangedSettingsRollThePods(t *testing.T) {
	t.Parallel()
	before := workloadsOf(t, objectsWith(t, "minimal", `{}`))
	after := workloadsOf(t, objectsWith(t, "minimal", `{"config": {"log": {"level": "debug"}}}`))
	for i, w := range before {
		if equality.Semantic.DeepEqual(w.pod, after[i].pod) {
			t.Errorf("two settings of the log give one pod of %s", w.name)
		}
	}
}
