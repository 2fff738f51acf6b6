package chart_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/millrace/millrace/tests/contract/chart/rendering"
)

// with returns the values of ci/NAME.yaml with those of a JSON text over them.
func with(t *testing.T, name, over string) map[string]any {
	t.Helper()
	values, err := rendering.Values(name)
	if err != nil {
		t.Fatal(err)
	}
	more := map[string]any{}
	if err := json.Unmarshal([]byte(over), &more); err != nil {
		t.Fatal(err)
	}
	return chartutil.CoalesceTables(more, values)
}

// objectsWith returns what the chart makes of ci/NAME.yaml with the values of a JSON text over it.
func objectsWith(t *testing.T, name, over string) []unstructured.Unstructured {
	t.Helper()
	objects, err := rendering.Objects(releaseWith(t, name, over))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// releaseWith renders ci/NAME.yaml with the values of a JSON text over it.
func releaseWith(t *testing.T, name, over string) *release.Release {
	t.Helper()
	c, err := rendering.Load()
	if err != nil {
		t.Fatal(err)
	}
	r, err := rendering.Render(c, with(t, name, over))
	if err != nil {
		t.Fatalf("%s: %v", over, err)
	}
	return r
}

func TestATypoIsRejectedByItsName(t *testing.T) {
	t.Parallel()
	c, err := rendering.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, over := range []string{
		`{"typo": 1}`,
		`{"edge": {"typo": 1}}`,
		`{"edge": {"autoscaling": {"typo": 1}}}`,
		`{"edge": {"service": {"typo": 1}}}`,
		`{"sink": {"persistence": {"typo": true}}}`,
		`{"config": {"typo": 1}}`,
		`{"config": {"kafka": {"typo": ["a:1"]}}}`,
		`{"config": {"kafka": {"sasl": {"typo": "x"}}}}`,
		`{"secrets": {"typo": {}}}`,
		`{"secrets": {"store": {"url": {"typo": "x"}}}}`,
		`{"files": {"kafka": {"tls": {"typo": {}}}}}`,
		`{"jobs": {"bootstrap": {"typo": "x"}}}`,
		`{"metrics": {"serviceMonitor": {"typo": "x"}}}`,
	} {
		if _, err := rendering.Render(c, with(t, "minimal", over)); err == nil || !strings.Contains(err.Error(), "typo") {
			t.Errorf("%s: %v", over, err)
		}
	}
}

// A place that takes anything is one by decision: it is handed on to Kubernetes.
func TestTheSchemaIsStrictWhereverItNamesProperties(t *testing.T) {
	t.Parallel()
	dir, err := rendering.Folder()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties           map[string]any `json:"properties"`
		AdditionalProperties any            `json:"additionalProperties"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	if schema.AdditionalProperties != false {
		t.Error("the schema takes unknown values at the top")
	}
	for name, s := range schema.Properties {
		strict(t, name, s.(map[string]any))
	}
}

func strict(t *testing.T, path string, schema map[string]any) {
	t.Helper()
	properties, ok := schema["properties"].(map[string]any)
	if ok && schema["additionalProperties"] != false {
		t.Errorf("%s takes unknown values", path)
	}
	for name, s := range properties {
		strict(t, path+"."+name, s.(map[string]any))
	}
}

// Whatever is off by default is on in some file of values: those are what is decoded, checked by the daemons and
// installed.
func TestEverySwitchIsOnInSomeFile(t *testing.T) {
	t.Parallel()
	c, err := rendering.Load()
	names, err2 := rendering.Names()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	var files []map[string]any
	for _, name := range names {
		values, err := rendering.Values(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, values)
	}
	off := 0
	var walk func(values map[string]any, path ...string)
	walk = func(values map[string]any, path ...string) {
		for name, value := range values {
			at := append(slices.Clone(path), name)
			if below, ok := value.(map[string]any); ok {
				walk(below, at...)
			}
			if value != false {
				continue
			}
			off++
			if !slices.ContainsFunc(files, func(f map[string]any) bool {
				on, _, _ := unstructured.NestedFieldNoCopy(f, at...)
				return on == true
			}) {
				t.Errorf("no file switches %s on", strings.Join(at, "."))
			}
		}
	}
	values := maps.Clone(c.Values)
	delete(values, "securityContext") // what it denies is no switch
	walk(values)
	if off < 15 {
		t.Errorf("%d switches are off by default", off)
	}
}

func TestWhatBelongsTogetherIsDemandedByName(t *testing.T) {
	t.Parallel()
	c, err := rendering.Load()
	if err != nil {
		t.Fatal(err)
	}
	const redis = "/secrets/redis/url/name"
	for _, tt := range []struct{ name, over, want string }{
		{"two edges without Redis", `{"edge": {"replicas": 2}}`, redis},
		{"autoscaled edges without Redis", `{"edge": {"autoscaling": {"enabled": true}}}`, redis},
		{"two query hosts without Redis", `{"query": {"replicas": 2}}`, redis},
		{"two edges that count for themselves", `{"edge": {"replicas": 2}, "limitsPerReplica": true}`, ""},
		{"two edges with Redis", `{"edge": {"replicas": 2}, "secrets": {"redis": {"url": {"name": "r"}}}}`, ""},
		{"two edges with Redis in a file", `{"edge": {"replicas": 2}, "config": {"redis": {"url_file": "/run/redis"}}}`, ""},
		{
			"an autoscaler that looks at nothing",
			`{"edge": {"autoscaling": {"enabled": true, "cpuPercent": 0}}, "limitsPerReplica": true}`,
			"/edge/autoscaling/cpuPercent",
		},
		{
			"an autoscaler that looks at requests",
			`{"edge": {"autoscaling": {"enabled": true, "cpuPercent": 0, "inFlight": 200}}, "limitsPerReplica": true}`, "",
		},
		{
			"an autoscaler with fewer pods at most than at least",
			`{"edge": {"autoscaling": {"enabled": true, "minReplicas": 3, "maxReplicas": 2}}, "limitsPerReplica": true}`,
			"edge.autoscaling.maxReplicas must be at least",
		},
		{
			"an autoscaler that stays at one number",
			`{"edge": {"autoscaling": {"enabled": true, "minReplicas": 3, "maxReplicas": 3}}, "limitsPerReplica": true}`, "",
		},
		{
			"a share of processor time that nobody requests",
			`{"edge": {"autoscaling": {"enabled": true}, "resources": {"requests": {"cpu": null}}}, "limitsPerReplica": true}`,
			"edge.resources.requests.cpu, which is not set",
		},
		{
			"a share of the processor time that is the limit",
			`{"edge": {"autoscaling": {"enabled": true}, "resources": {"requests": {"cpu": null}, "limits": {"cpu": "2"}}},
				"limitsPerReplica": true}`, "",
		},
		{"two sinks", `{"sink": {"replicas": 2}}`, ""},
		{"no store", `{"secrets": {"store": {"url": {"name": ""}}}}`, "/secrets/store/url/name"},
		{
			"a store in a file",
			`{"secrets": {"store": {"url": {"name": ""}}}, "config": {"store": {"url_file": "/run/store"}}}`, "",
		},
		{"no brokers", `{"config": {"kafka": {"brokers": []}}}`, "/config/kafka/brokers"},
		{"no ClickHouse", `{"config": {"clickhouse": {"addr": []}}}`, "/config/clickhouse/addr"},
		{"no address of the ingestion host", `{"config": {"ingest": {"public_url": ""}}}`, "/config/ingest/public_url"},
		{"no address of the query host", `{"config": {"query": {"public_url": ""}}}`, "/config/query/public_url"},
		{"sinks alone", `{"config": {"ingest": {"public_url": ""}, "query": {"public_url": ""}}, "edge": {"enabled": false}, "query": {"enabled": false}}`, ""},
		{"a first account without a mail address", `{"jobs": {"bootstrap": {"email": ""}}}`, "/jobs/bootstrap/email"},
		{"an Ingress without hosts", `{"ingress": {"edge": {"enabled": true}}}`, "/ingress/edge/hosts"},
		{"a route without a gateway", `{"gateway": {"query": {"enabled": true}}}`, "/gateway/query/parentRefs"},
		{"an account without a name", `{"serviceAccount": {"create": false}}`, "/serviceAccount/name"},
		{"a setting beyond its range", `{"config": {"limits": {"track": 0}}}`, "/config/limits/track"},
		{"a word that is none", `{"config": {"log": {"level": "loud"}}}`, "/config/log/level"},
		{"a duration without a unit", `{"config": {"ingest": {"deadline": "5"}}}`, "/config/ingest/deadline"},
		{"a quantity that is none", `{"edge": {"resources": {"limits": {"memory": "512MB"}}}}`, "resources.limits.memory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := rendering.Render(c, with(t, "minimal", tt.over))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%s: %v, want %q in it", tt.over, err, tt.want)
			}
		})
	}
}
