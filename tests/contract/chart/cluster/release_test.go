package cluster

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millrace/millrace/tests/contract/chart/rendering"
)

// version returns the chart as a version of it.
func version(t *testing.T, v string) *chart.Chart {
	t.Helper()
	c, err := rendering.Load()
	if err != nil {
		t.Fatal(err)
	}
	c.Metadata.Version, c.Metadata.AppVersion = v, v
	return c
}

func (s *space) install(t *testing.T, c *chart.Chart, values map[string]any) *release.Release {
	t.Helper()
	install := action.NewInstall(s.helm)
	install.ReleaseName, install.Namespace, install.Timeout = rendering.Release, s.name, hookTimeout
	r, err := install.RunWithContext(t.Context(), c, values)
	if err != nil {
		t.Fatalf("installing: %v", err)
	}
	return r
}

func (s *space) upgrade(t *testing.T, c *chart.Chart, values map[string]any) *release.Release {
	t.Helper()
	upgrade := action.NewUpgrade(s.helm)
	upgrade.Namespace, upgrade.Timeout = s.name, hookTimeout
	r, err := upgrade.RunWithContext(t.Context(), rendering.Release, c, values)
	if err != nil {
		t.Fatalf("upgrading: %v", err)
	}
	return r
}

func (s *space) uninstall(t *testing.T) {
	t.Helper()
	uninstall := action.NewUninstall(s.helm)
	uninstall.Timeout = hookTimeout
	if _, err := uninstall.Run(rendering.Release); err != nil {
		t.Fatalf("removing: %v", err)
	}
}

func TestEveryFileInstallsUpgradesAndIsRemoved(t *testing.T) {
	leaveOutWhenShort(t)
	applyCRDs(t)
	names, err := rendering.Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			values, err := rendering.Values(name)
			if err != nil {
				t.Fatal(err)
			}
			s := newSpace(t, name)
			s.install(t, version(t, "0.9.0"), values)
			expectJobs(t, s, name)
			installed := s.left(t)

			// The new version, in every place that names it, with one setting changed.
			if r := s.upgrade(t, version(t, "1.0.0"), changed(values)); r.Version != 2 ||
				r.Info.Status != release.StatusDeployed {
				t.Errorf("after the upgrade the release is %d, %s", r.Version, r.Info.Status)
			}
			expectJobs(t, s, name)
			if now := s.left(t); !slices.Equal(now, installed) {
				t.Errorf("the upgrade made %v of %v", now, installed)
			}

			s.uninstall(t)
			left := slices.DeleteFunc(s.left(t), func(o string) bool {
				return strings.HasPrefix(o, "Secret ") &&
					(strings.HasSuffix(o, "first-account") || strings.HasSuffix(o, "shop-first"))
			})
			if len(left) > 0 {
				t.Errorf("the removal left %v", left)
			}
			if said := s.said.all(); len(said) > 0 {
				t.Errorf("the API server warned: %q", said)
			}
		})
	}
}

// changed returns values with one more setting of the log.
func changed(values map[string]any) map[string]any {
	config, _ := values["config"].(map[string]any)
	out, with := map[string]any{}, map[string]any{"log": map[string]any{"level": "warn"}}
	for k, v := range config {
		if k != "log" {
			with[k] = v
		}
	}
	maps.Copy(out, values)
	out["config"] = with
	return out
}

// expectJobs demands that the hooks ran in their order.
func expectJobs(t *testing.T, s *space, file string) {
	t.Helper()
	var want []string
	switch file {
	case "standalone":
	case "air-gapped":
		want = []string{"migrate", "topics"}
	default:
		want = []string{"migrate", "topics", "bootstrap"}
	}
	var ran []string
	for _, name := range s.jobs() {
		ran = append(ran, name[strings.LastIndex(name, "-")+1:])
	}
	if !slices.Equal(ran, want) {
		t.Errorf("the hooks ran %v, want %v", ran, want)
	}
}

func TestAnUpgradeKeepsTheFirstAccount(t *testing.T) {
	leaveOutWhenShort(t)
	values, err := rendering.Values("minimal")
	if err != nil {
		t.Fatal(err)
	}
	s := newSpace(t, "first-account")
	s.install(t, version(t, "0.9.0"), values)
	secrets := s.kube.CoreV1().Secrets(s.name)
	const name = "millrace-first-account"
	// What the bootstrap job does; tests/system/deployed shows that it may and does.
	patch := []byte(`{"stringData":{"API_KEY":"mlr_1"}}`)
	if _, err := secrets.Patch(t.Context(), name, "application/merge-patch+json", patch,
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.upgrade(t, version(t, "1.0.0"), values)
	s.uninstall(t)
	s.install(t, version(t, "1.0.0"), values)
	secret, err := secrets.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil || string(secret.Data["API_KEY"]) != "mlr_1" {
		t.Errorf("after an upgrade, a removal and an installation the Secret holds %v, %v", secret.Data, err)
	}
}

func TestAChartFromAnotherVolumeIsRejectedByTheAPIServer(t *testing.T) {
	leaveOutWhenShort(t)
	values, err := rendering.Values("minimal")
	if err != nil {
		t.Fatal(err)
	}
	s := newSpace(t, "immutable")
	s.install(t, version(t, "0.9.0"), values)
	upgrade := action.NewUpgrade(s.helm)
	upgrade.Namespace, upgrade.Timeout = s.name, hookTimeout
	values["sink"] = map[string]any{"persistence": map[string]any{"enabled": true}}
	if _, err := upgrade.RunWithContext(t.Context(), rendering.Release, version(t, "1.0.0"), values); err == nil ||
		!strings.Contains(err.Error(), `"millrace-sink" is invalid: spec`) {
		t.Errorf("a volume was added to a StatefulSet: %v; what else is not seen here?", err)
	}
}

// Kubernetes makes one of a number of pods that is not written any more, and nothing else holds up the removal of
// the others.
func TestWhoScalesInsteadOfTheChartBeginsWithThePodsThatThereAre(t *testing.T) {
	leaveOutWhenShort(t)
	values, err := rendering.Values("minimal")
	if err != nil {
		t.Fatal(err)
	}
	s := newSpace(t, "scaled")
	values["limitsPerReplica"] = true
	values["edge"], values["sink"] = map[string]any{"replicas": 4}, map[string]any{"replicas": 3}
	s.install(t, version(t, "0.9.0"), values)
	values["edge"] = map[string]any{"autoscaling": map[string]any{"enabled": true, "minReplicas": 2}}
	values["sink"] = map[string]any{"externallyScaled": true}
	for _, tt := range []struct {
		name         string
		edges, sinks int32 // as somebody has scaled them before the upgrade
		wantEdges    int32
	}{
		{"handed over", 4, 3, 4},
		{"scaled up, and sinks paused", 7, 0, 7},
		{"fewer edges than the autoscaler's least", 1, 1, 2},
	} {
		s.scale(t, tt.edges, tt.sinks)
		s.upgrade(t, version(t, "1.0.0"), values)
		if edges, sinks := s.replicas(t); edges != tt.wantEdges || sinks != tt.sinks {
			t.Errorf("%s: an upgrade leaves %d edges and %d sinks, want %d and %d",
				tt.name, edges, sinks, tt.wantEdges, tt.sinks)
		}
	}
}

// scale does what autoscalers do.
func (s *space) scale(t *testing.T, edges, sinks int32) {
	t.Helper()
	for kind, n := range map[string]int32{"deployments/millrace-edge": edges, "statefulsets/millrace-sink": sinks} {
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n)
		err := s.kube.AppsV1().RESTClient().Patch(types.MergePatchType).Namespace(s.name).Resource(path.Dir(kind)).
			Name(path.Base(kind)).SubResource("scale").Body(patch).Do(t.Context()).Error()
		if err != nil {
			t.Fatalf("scaling %s: %v", kind, err)
		}
	}
}

func (s *space) replicas(t *testing.T) (edges, sinks int32) {
	t.Helper()
	edge, err := s.kube.AppsV1().Deployments(s.name).Get(t.Context(), "millrace-edge", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sink, err := s.kube.AppsV1().StatefulSets(s.name).Get(t.Context(), "millrace-sink", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return *edge.Spec.Replicas, *sink.Spec.Replicas
}
