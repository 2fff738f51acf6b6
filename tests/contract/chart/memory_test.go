package chart_test

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestTheRuntimeKnowsTheLimits(t *testing.T) {
	t.Parallel()
	for _, w := range workloadsOf(t, objectsOf(t, "everything")) {
		c := w.container()
		if got := variable(c, "GOMEMLIMIT").Value; c.Name == "edge" && got != "966367641" { // 90 % of 1Gi
			t.Errorf("GOMEMLIMIT of the edge is %q", got)
		}
		procs := variable(c, "GOMAXPROCS")
		if limited := c.Name == "edge"; limited != (procs.ValueFrom != nil &&
			procs.ValueFrom.ResourceFieldRef.Resource == "limits.cpu") {
			t.Errorf("GOMAXPROCS of %s is %+v", c.Name, procs)
		}
	}
}

// pipelineShares are the shares of sink.max_memory and of sink.window_memory that the lanes have, as
// internal/app/sink gives them.
var pipelineShares = map[string][2]float64{
	"live": {1, 1}, "backfill": {1. / 4, 1. / 4}, "web": {1. / 8, 1. / 4},
	"clicks": {1. / 16, 1. / 8}, "exposures": {1. / 16, 1. / 8},
}

// sinkTakes is what a sink with these variables takes when its windows are full, in bytes.
func sinkTakes(t *testing.T, c *corev1.Container) float64 {
	t.Helper()
	of := func(name, otherwise string) string {
		return cmp.Or(variable(c, "MILLRACE_SINK_"+name).Value, otherwise)
	}
	maxMemory, err := strconv.ParseFloat(of("MAX_MEMORY", "234881024"), 64)
	windowMemory, err2 := strconv.ParseFloat(of("WINDOW_MEMORY", "2147483648"), 64)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	sum := 228. * (1 << 20)
	for name := range strings.SplitSeq(of("LANES", "live,backfill,web,clicks,exposures"), ",") {
		shares, ok := pipelineShares[name]
		if !ok {
			t.Fatalf("there is no lane %q", name)
		}
		sum += shares[0]*maxMemory + shares[1]*windowMemory
	}
	return sum
}

// A collector that is told less than what is in use does nothing but collect.
func TestASinkIsGivenWhatItsSettingsTake(t *testing.T) {
	t.Parallel()
	eachFile(t, func(t *testing.T, _ string, objects []unstructured.Unstructured) {
		for _, w := range workloadsOf(t, objects) {
			c := w.container()
			if c.Name != "sink" {
				continue
			}
			limit, err := strconv.ParseFloat(variable(c, "GOMEMLIMIT").Value, 64)
			if takes := sinkTakes(t, c); err != nil || takes > limit {
				t.Errorf("a sink takes %.0f MiB and is told %.0f, %v", takes/(1<<20), limit/(1<<20), err)
			}
		}
	})
}
