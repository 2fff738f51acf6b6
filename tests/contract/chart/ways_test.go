package chart_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/millrace/millrace/tests/contract/chart/rendering"
)

// A proxy that gives up before the host does answers for it, and says nothing of what
// became of the events. The ingestion host takes 30 s at most and the wait for Kafka, 5 s;
// the query host half an hour for an export. One that rejects or collects bodies keeps them
// from the host's own limits.
func TestWaysInLetPassWhatTheHostsTake(t *testing.T) {
	t.Parallel()
	c, err := rendering.Load()
	if err != nil {
		t.Fatal(err)
	}
	const (
		nginx        = `{"ingress": {"controller": "nginx", "edge": {"enabled": true, "hosts": ["in"]}, "query": {"enabled": true, "hosts": ["api"]}}}`
		read         = "nginx.ingress.kubernetes.io/proxy-read-timeout"
		alb          = "alb.ingress.kubernetes.io/load-balancer-attributes"
		haproxy      = "haproxy-ingress.github.io/timeout-server"
		idle         = "idle_timeout.timeout_seconds="
		nginxLimit   = "nginx.ingress.kubernetes.io/proxy-body-size"
		haproxyLimit = "haproxy-ingress.github.io/proxy-body-size"
		collect      = "nginx.ingress.kubernetes.io/proxy-request-buffering"
		again        = "nginx.ingress.kubernetes.io/proxy-next-upstream"
	)
	controlled := func(by, more string) string {
		return strings.TrimSuffix(strings.Replace(nginx, `"nginx"`, `"`+by+`"`, 1), "}") + more + "}"
	}
	for _, tt := range []struct{ over, annotation, edge, query string }{
		{nginx, read, "40", "1805"},
		{nginx, nginxLimit, "64m", "64m"}, // so that the host answers one above 2 MB
		{nginx, collect, "off", "off"},
		{nginx, again, "off", "off"},
		{controlled("haproxy", ""), haproxyLimit, "64m", "64m"},
		{
			controlled("nginx", `, "config": {"ingest": {"deadline": "20s"}, "query": {"export": {"deadline": "1h"}}}`),
			read, "55", "3605",
		},
		{controlled("haproxy", ""), haproxy, "40s", "1805s"},
		{controlled("alb", ""), alb, idle + "40", idle + "1805"},
		// more is rejected
		{controlled("alb", `, "config": {"query": {"export": {"deadline": "24h"}}}`), alb, idle + "40", idle + "4000"},
	} {
		r, err := rendering.Render(c, with(t, "minimal", tt.over))
		if err != nil {
			t.Fatal(err)
		}
		objects, err := rendering.Objects(r)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"millrace-edge": tt.edge, "millrace-query": tt.query} {
			if got := find(t, objects, "Ingress", name).GetAnnotations()[tt.annotation]; got != want {
				t.Errorf("%s: %s of %s is %q, want %q", tt.over, tt.annotation, name, got, want)
			}
		}
	}
	for name, want := range map[string]string{"millrace-edge": "115s", "millrace-query": "1880s"} { // and 75 s for a body
		rules, _, err := unstructured.NestedSlice(
			find(t, objectsOf(t, "external"), "HTTPRoute", name).Object, "spec", "rules")
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := unstructured.NestedString(rules[0].(map[string]any),
			"timeouts", "request"); got != want || err != nil {
			t.Errorf("the route %s gives up after %s, %v; want %s", name, got, err, want)
		}
	}
}

// A request that a load balancer sends while the host closes a connection that neither uses is
// answered 502.
func TestHostsKeepConnectionsForLongerThanTheLoadBalancer(t *testing.T) {
	t.Parallel()
	const ways = `"edge": {"enabled": true, "hosts": ["in"]}, "query": {"enabled": true, "hosts": ["api"]}`
	for _, tt := range []struct{ over, ingest, query string }{ // empty: as by default, 100 s
		{`{"ingress": {"controller": "nginx", ` + ways + `}}`, "", ""},
		{`{"ingress": {"controller": "alb"}}`, "", ""},
		{`{"ingress": {"controller": "alb", ` + ways + `}}`, "", "1820s"},
		{
			`{"ingress": {"controller": "alb", ` + ways + `}, "config": {
				"ingest": {"deadline": "51s"}, "query": {"export": {"deadline": "24h"}}}}`, "101s", "4015s",
		},
		{
			`{"ingress": {"controller": "alb", ` + ways + `}, "config": {
				"ingest": {"deadline": "50s"}, "query": {"idle_time": "2h"}}}`, "", "2h",
		},
	} {
		for _, w := range workloadsOf(t, objectsWith(t, "minimal", tt.over)) {
			ingest := variable(w.container(), "MILLRACE_INGEST_IDLE_TIME").Value
			query := variable(w.container(), "MILLRACE_QUERY_IDLE_TIME").Value
			if ingest != tt.ingest || query != tt.query {
				t.Errorf("%s: connections of %s are kept for %q and %q, want %q and %q",
					tt.over, w.name, ingest, query, tt.ingest, tt.query)
			}
		}
	}
}
