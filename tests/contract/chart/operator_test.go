package chart_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// workloadOf returns the workload of a component, and nil where there is none.
func workloadOf(t *testing.T, objects []unstructured.Unstructured, component string) *workload {
	t.Helper()
	all := workloadsOf(t, objects)
	i := slices.IndexFunc(all, func(w workload) bool { return w.container().Name == component })
	if i < 0 {
		return nil
	}
	return &all[i]
}

func TestCommandsHaveAPodOnceItIsAskedFor(t *testing.T) {
	t.Parallel()
	const on = `{"operator": {"enabled": true}}`
	for _, tt := range []struct {
		file, over string
		want       bool
	}{
		{"production", `{}`, false},
		{"production", on, true},
		{"standalone", on, false}, // its own pod has the commands, and the only one that reaches its servers
	} {
		if got := workloadOf(t, objectsWith(t, tt.file, tt.over), "operator"); (got != nil) != tt.want {
			t.Errorf("%s with %s has %+v", tt.file, tt.over, got)
		}
	}
}

// A command does what a job could do, in more memory, for as long as somebody waits for it.
func TestCommandsRunAsTheJobsDo(t *testing.T) {
	t.Parallel()
	objects := objectsWith(t, "everything", `{"jobs": {
		"extraEnv": [{"name": "MILLRACE_LOG_LEVEL", "value": "warn"}], "nodeSelector": {"disk": "fast"},
		"extraVolumes": [{"name": "more", "emptyDir": {}}], "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}]},
		"operator": {"resources": {"limits": {"memory": "2Gi"}}}}`)
	job, operator := workloadOf(t, objects, "migrate").pod.Spec, workloadOf(t, objects, "operator").pod.Spec
	ours := &operator.Containers[0]
	if got := variable(ours, "GOMEMLIMIT").Value; got != "1932735283" { // 90 % of 2Gi
		t.Errorf("GOMEMLIMIT is %s", got)
	}
	if want := []string{"status", "--json", "--watch", "1h"}; !slices.Equal(ours.Args, want) {
		t.Errorf("it waits by %q, want %q", ours.Args, want)
	}
	expectAll(t, job.Containers[0].Env, ours.Env, "GOMEMLIMIT")
	expectAll(t, job.Containers[0].VolumeMounts, ours.VolumeMounts)
	expectAll(t, job.Volumes, operator.Volumes)
	// What is meant to differ.
	operator.RestartPolicy, operator.ServiceAccountName = job.RestartPolicy, job.ServiceAccountName
	ours.Name, ours.Args, ours.Resources = "migrate", job.Containers[0].Args, job.Containers[0].Resources
	ours.Env, ours.VolumeMounts, operator.Volumes = job.Containers[0].Env, job.Containers[0].VolumeMounts, job.Volumes
	if !equality.Semantic.DeepEqual(operator, job) {
		t.Errorf("it runs as\n%+v\nand a job as\n%+v", operator, job)
	}
}

// expectAll demands that the operator's pod has everything of a job's, which has only what it uses.
func expectAll[T corev1.EnvVar | corev1.VolumeMount | corev1.Volume](t *testing.T, job, ours []T, but ...string) {
	t.Helper()
	for _, want := range job {
		e, _ := any(want).(corev1.EnvVar)
		if !slices.ContainsFunc(ours, func(o T) bool { return equality.Semantic.DeepEqual(o, want) }) &&
			!slices.Contains(but, e.Name) {
			t.Errorf("it lacks %+v of a job", want)
		}
	}
}

func TestPoliciesLetCommandsAskTheDaemons(t *testing.T) {
	t.Parallel()
	const closed = `"networkPolicy": {"enabled": true, "monitoring": [{"namespaceSelector": {}}]}`
	without := policy(t, objectsWith(t, "minimal", `{`+closed+`}`), "millrace")
	objects := objectsWith(t, "minimal", `{`+closed+`, "operator": {"enabled": true}}`)
	with, own := policy(t, objects, "millrace"), policy(t, objects, "millrace-operator")
	from := with.Spec.Ingress[0].From
	if len(without.Spec.Ingress[0].From) != 1 || len(from) != 2 ||
		from[1].PodSelector.MatchLabels["app.kubernetes.io/component"] != "operator" {
		t.Errorf("admin ports are reached from %+v, want operators among them", from)
	}
	if anywhere, ours := ports(own); len(anywhere) != 0 || !slices.Equal(ours, []int32{9464}) ||
		own.Spec.PodSelector.MatchLabels["app.kubernetes.io/component"] != "operator" {
		t.Errorf("%v may reach %d anywhere and %d of the release's pods", own.Spec.PodSelector, anywhere, ours)
	}
	if anywhere, _ := ports(with); !slices.Contains(anywhere, 9092) ||
		with.Spec.PodSelector.MatchLabels["app.kubernetes.io/component"] != "" {
		t.Errorf("%v may reach %d", with.Spec.PodSelector, anywhere)
	}
}
