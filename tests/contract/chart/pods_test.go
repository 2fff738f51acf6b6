package chart_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func variable(c *corev1.Container, name string) *corev1.EnvVar {
	i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == name })
	if i < 0 {
		return &corev1.EnvVar{}
	}
	return &c.Env[i]
}

func find(t *testing.T, objects []unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for i := range objects {
		if objects[i].GetKind() == kind && objects[i].GetName() == name {
			return &objects[i]
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return nil
}

func TestEveryPodRunsWithoutRights(t *testing.T) {
	t.Parallel()
	eachFile(t, func(t *testing.T, _ string, objects []unstructured.Unstructured) {
		for _, w := range workloadsOf(t, objects) {
			own, pod := w.container().SecurityContext, w.pod.Spec.SecurityContext
			if own == nil || !*own.ReadOnlyRootFilesystem || *own.AllowPrivilegeEscalation ||
				!slices.Equal(own.Capabilities.Drop, []corev1.Capability{"ALL"}) {
				t.Errorf("%s %s: the container has %+v", w.kind, w.name, own)
			}
			if pod == nil || !*pod.RunAsNonRoot || pod.SeccompProfile == nil {
				t.Errorf("%s %s: the pod has %+v", w.kind, w.name, pod)
			}
			token := w.pod.Spec.AutomountServiceAccountToken
			if *token != (w.container().Name == "bootstrap") {
				t.Errorf("%s %s: automountServiceAccountToken is %v", w.kind, w.name, *token)
			}
		}
	})
}

func TestEveryDaemonHasLongerToEndThanItsRequestsToBeAnswered(t *testing.T) {
	t.Parallel()
	objects := objectsOf(t, "everything") // delay 2s, grace 1m30s, and 5 s before
	daemons := 0
	for _, w := range workloadsOf(t, objects) {
		if w.kind == "Job" || w.container().Name == "operator" {
			continue
		}
		daemons++
		stop := w.container().Lifecycle.PreStop
		if stop == nil || stop.Sleep == nil || stop.Sleep.Seconds != 5 {
			t.Errorf("%s: preStop is %+v", w.name, stop)
		}
		if got := *w.pod.Spec.TerminationGracePeriodSeconds; got != 5+2+90+10 {
			t.Errorf("%s: terminationGracePeriodSeconds is %d, want 107", w.name, got)
		}
		if w.container().ReadinessProbe == nil || w.container().LivenessProbe == nil {
			t.Errorf("%s has no probes", w.name)
		}
	}
	if daemons != 3 {
		t.Errorf("there are %d daemons, want 3", daemons)
	}
}

// A job's deadline deletes the pod that runs, and with it the log of a container that was started again.
func TestAFailedAttemptOfAJobKeepsItsLog(t *testing.T) {
	t.Parallel()
	for over, want := range map[string]string{
		`{}`: "120s", `{"jobs": {"activeDeadlineSeconds": 61}}`: "30s", `{"jobs": {"activeDeadlineSeconds": 3600}}`: "120s",
	} {
		for _, w := range workloadsOf(t, objectsWith(t, "minimal", over)) {
			if w.kind != "Job" {
				continue
			}
			c := w.container()
			if w.pod.Spec.RestartPolicy != corev1.RestartPolicyNever ||
				c.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
				t.Errorf("%s: restartPolicy %s, terminationMessagePolicy %s",
					w.name, w.pod.Spec.RestartPolicy, c.TerminationMessagePolicy)
			}
			at := slices.Index(c.Args, "--wait") + 1
			if at > 0 && c.Args[at] != want || at == 0 && c.Name != "bootstrap" {
				t.Errorf("%s: %s runs %q, want it to wait %s", over, w.name, c.Args, want)
			}
		}
	}
}

func TestASinkIsTheMemberOfItsOrdinal(t *testing.T) {
	t.Parallel()
	for _, w := range workloadsOf(t, objectsOf(t, "production")) {
		id := variable(w.container(), "MILLRACE_SINK_INSTANCE_ID")
		isSink := w.kind == "StatefulSet"
		if isSink != (id.ValueFrom != nil && id.ValueFrom.FieldRef.FieldPath == "metadata.name") {
			t.Errorf("%s %s: MILLRACE_SINK_INSTANCE_ID is %+v", w.kind, w.name, id)
		}
	}
}

func TestTheBootstrapJobMayPatchItsSecretAndNothingElse(t *testing.T) {
	t.Parallel()
	objects := objectsOf(t, "everything")
	rules, _, err := unstructured.NestedSlice(find(t, objects, "Role", "shop-analytics-bootstrap").Object, "rules")
	if err != nil || len(rules) != 1 {
		t.Fatalf("the rules are %v, %v", rules, err)
	}
	rule := rules[0].(map[string]any)
	for field, want := range map[string]string{"resources": "secrets", "resourceNames": "shop-first", "verbs": "patch"} {
		if got := rule[field].([]any); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %v, want %s alone", field, got, want)
		}
	}
	for _, o := range objects {
		if o.GetKind() == "ClusterRole" || o.GetKind() == "ClusterRoleBinding" {
			t.Errorf("the chart asks for rights in the whole cluster: %s", o.GetName())
		}
	}
}
