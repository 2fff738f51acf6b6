package chart_test

import (
	"slices"
	"strings"
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
	for over, want := range map[string]struct{ wait, timeout string }{
		`{}`: {"120s", "210s"},
		`{"jobs": {"activeDeadlineSeconds": 10}}`:   {"5s", "5s"},
		`{"jobs": {"activeDeadlineSeconds": 61}}`:   {"30s", "54s"},
		`{"jobs": {"activeDeadlineSeconds": 3600}}`: {"120s", "3150s"},
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
			args := map[string][]string{
				"migrate": {"migrate", "--wait", want.wait, "--timeout", want.timeout},
				"topics":  {"topics", "create", "--wait", want.wait},
			}
			if c.Name != "bootstrap" && !slices.Equal(c.Args, args[c.Name]) {
				t.Errorf("%s: %s runs %q, want %q", over, w.name, c.Args, args[c.Name])
			}
		}
	}
}

// What somebody else scales has no number without a cluster to ask: whoever applies it again would undo theirs.
func TestWhatIsScaledElsewhereHasNoNumberOfPods(t *testing.T) {
	t.Parallel()
	for _, w := range workloadsOf(t, objectsOf(t, "everything")) {
		_, written, err := unstructured.NestedFieldNoCopy(w.object.Object, "spec", "replicas")
		if scaled := w.container().Name == "edge" || w.container().Name == "sink"; err != nil ||
			w.kind != "Job" && written == scaled {
			t.Errorf("replicas of %s %s are written: %v, %v", w.kind, w.name, written, err)
		}
	}
}

// Sinks of one installation may be in several namespaces under one name, and two members of one id throw each other
// out of the group.
func TestASinkIsTheMemberOfItsOrdinalAndNamespace(t *testing.T) {
	t.Parallel()
	for _, w := range workloadsOf(t, objectsOf(t, "production")) {
		for namespace, want := range map[string]string{"a": "a.millrace-sink-0", "b": "b.millrace-sink-0"} {
			if w.kind != "StatefulSet" {
				want = ""
			}
			env := environment(w.container(), namespace)
			id := ""
			for _, e := range env {
				if value, ok := strings.CutPrefix(e, "MILLRACE_SINK_INSTANCE_ID="); ok {
					id = value
				}
			}
			if id != want {
				t.Errorf("%s %s is the member %q in namespace %s, want %q", w.kind, w.name, id, namespace, want)
			}
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
