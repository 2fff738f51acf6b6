package cluster

import (
	"testing"

	"k8s.io/client-go/discovery"

	"github.com/millrace/millrace/tests/contract/chart/rendering"
)

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
