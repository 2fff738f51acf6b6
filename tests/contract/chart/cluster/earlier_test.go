package cluster

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"

	"github.com/millrace/millrace/tests/contract/chart/rendering"
)

// What releases before had is taken over, changed or removed: names, hooks, fields that nobody may change.
func TestAReleaseOfAnEarlierChartIsUpgraded(t *testing.T) {
	leaveOutWhenShort(t)
	applyCRDs(t)
	for _, name := range []string{"everything", "production", "standalone"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			earlier, err := rendering.Earlier()
			if err != nil {
				t.Fatal(err)
			}
			before, err := rendering.EarlierValues(earlier, name)
			if err != nil {
				t.Fatal(err)
			}
			values, err := rendering.Values(name)
			if err != nil {
				t.Fatal(err)
			}
			s := newSpace(t, name+"-earlier")
			s.install(t, earlier, before)
			expectJobs(t, s, name)
			r := s.upgrade(t, version(t, "1.0.0"), values)
			expectJobs(t, s, name)
			objects, err := rendering.Objects(r)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range s.left(t) {
				if !slices.ContainsFunc(objects, func(u unstructured.Unstructured) bool {
					return u.GetKind()+" "+u.GetName() == o
				}) {
					t.Errorf("the upgrade left %s of the earlier chart", o)
				}
			}
		})
	}
}

// What `helm template` renders in these tests is what the API server is given.
func TestChartsAreRenderedForTheAPIServerThatIsAsked(t *testing.T) {
	leaveOutWhenShort(t)
	rendered, err := rendering.KubeVersion()
	if err != nil {
		t.Fatal(err)
	}
	served, err := discovery.NewDiscoveryClientForConfigOrDie(server).ServerVersion()
	if err != nil || served.GitVersion != rendered.Version {
		t.Errorf("charts are rendered for Kubernetes %s and installed into %v, %v", rendered.Version, served, err)
	}
}
