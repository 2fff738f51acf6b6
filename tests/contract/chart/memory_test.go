package chart_test

import (
	"cmp"
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

const mib = 1 << 20

// variables reads the numbers of a container, of which each stands there or has a default.
type variables struct {
	*testing.T

	of *corev1.Container
}

func (v variables) number(name string, otherwise float64) float64 {
	v.Helper()
	text := variable(v.of, "MILLRACE_"+name).Value
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		v.Errorf("%s: %v", name, err)
	}
	return n
}

// sinkTakes is what a sink takes when its windows are full, in bytes.
func sinkTakes(v variables) float64 {
	maxMemory, windowMemory := v.number("SINK_MAX_MEMORY", 224*mib), v.number("SINK_WINDOW_MEMORY", 2048*mib)
	sum := 228. * mib
	lanes := cmp.Or(variable(v.of, "MILLRACE_SINK_LANES").Value, "live,backfill,web,clicks,exposures")
	for name := range strings.SplitSeq(lanes, ",") {
		shares, ok := pipelineShares[name]
		if !ok {
			v.Fatalf("there is no lane %q", name)
		}
		sum += shares[0]*maxMemory + shares[1]*windowMemory
	}
	return sum
}

// queryTakes is what a query host takes when as much as may be is asked of it at once, exports included.
func queryTakes(v variables) float64 {
	return 500*mib + 41e3*v.number("FLAGS_MAX_STREAMS", 10_000) + 20e3*v.number("QUERY_MAX_CONNECTIONS", 4096) +
		v.number("FLAGS_MEMORY", 256*mib) + v.number("QUERY_CACHE_MEMORY", 128*mib) +
		v.number("QUERY_MAX_BODY_MEMORY", 256*mib) + v.number("LIMITS_MEMORY", 16*mib) +
		64*mib*v.number("QUERY_EXPORT_MAX", 8) + v.number("QUERY_SLOTS", 16)*v.number("QUERY_MAX_RESULT", 32*mib)
}

// edgeTakes is what internal/app/edge tells the collector by itself.
func edgeTakes(v variables) float64 {
	sum := v.number("INGEST_MAX_MEMORY", 96*mib) + v.number("LIMITS_MEMORY", 16*mib) + 56*mib
	if v.of.Name == "standalone" || variable(v.of, "MILLRACE_LINK_LISTEN").Value != "" {
		sum += 400*v.number("LINK_CACHE_ENTRIES", 1e6) + v.number("LINK_MAX_BUFFERED_BYTES", 64*mib)
	}
	return sum
}

// A collector that is told less than what is in use does nothing but collect.
func TestEachDaemonIsGivenWhatItsSettingsTake(t *testing.T) {
	t.Parallel()
	takes := map[string]func(variables) float64{
		"sink": sinkTakes, "query": queryTakes, "edge": edgeTakes,
		"standalone": func(v variables) float64 { return sinkTakes(v) + queryTakes(v) + edgeTakes(v) },
	}
	eachFile(t, func(t *testing.T, _ string, objects []unstructured.Unstructured) {
		for _, w := range workloadsOf(t, objects) {
			c := w.container()
			if takes[c.Name] == nil {
				continue
			}
			limit, err := strconv.ParseFloat(variable(c, "GOMEMLIMIT").Value, 64)
			if sum := takes[c.Name](variables{t, c}); err != nil || sum > limit {
				t.Errorf("%s takes %.0f MiB and is told %.0f, %v", c.Name, sum/mib, limit/mib, err)
			}
		}
	})
}

// The embedded ClickHouse takes half of what there is, as it is set, and 4 GiB at most.
func TestTheEmbeddedClickHouseHasItsShareOfTheLimit(t *testing.T) {
	t.Parallel()
	for over, want := range map[string]string{
		`{}`: "3865470566", // 90 % of half of 8Gi
		`{"standalone": {"resources": {"limits": {"memory": "16Gi"}}}}`:                            "11596411699",
		`{"config": {"clickhouse": {"addr": ["ch:9000"]}}}`:                                        "7730941132",
		`{"goMemoryPercent": 50, "standalone": {"resources": {"limits": {"memory": 4000000000}}}}`: "1000000000",
		`{"standalone": {"extraEnv": [{"name": "GOMEMLIMIT", "value": "1GiB"}]}}`:                  "1GiB",
	} {
		for _, w := range workloadsOf(t, objectsWith(t, "standalone", over)) {
			if got := variable(w.container(), "GOMEMLIMIT").Value; got != want {
				t.Errorf("%s: GOMEMLIMIT is %q, want %q", over, got, want)
			}
		}
	}
	set := objectsWith(t, "standalone", `{"config": {"sink": {"window_memory": 1073741824}, "flags": {"max_streams": 7}}}`)
	for name, want := range map[string]string{
		"SINK_WINDOW_MEMORY": "1073741824", "FLAGS_MAX_STREAMS": "7", "LINK_CACHE_ENTRIES": "100000",
	} {
		if got := variable(workloadsOf(t, set)[0].container(), "MILLRACE_"+name).Value; got != want {
			t.Errorf("MILLRACE_%s is %q, want %q", name, got, want)
		}
	}
}
