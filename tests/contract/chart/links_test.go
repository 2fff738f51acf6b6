package chart_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/millrace/millrace/tests/contract/chart/rendering"
)

const linksOn = `{
	"config": {"link": {"public_url": "https://go.example.com", "cache_entries": 10000}},
	"edge": {"links": {"enabled": true, "port": 80}},
	"networkPolicy": {"enabled": true},
	"ingress": {"links": {"enabled": true, "hosts": ["go.example.com"]}},
	"gateway": {"links": {"enabled": true, "parentRefs": [{"name": "public"}]}}}`

func TestShortLinksHaveAWayInOnceTheyAreTurnedOn(t *testing.T) {
	t.Parallel()
	c, err := rendering.Load()
	if err != nil {
		t.Fatal(err)
	}
	off, err := rendering.Render(c,
		with(t, "minimal", `{"ingress": {"links": {"enabled": true, "hosts": ["go.example.com"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if text := rendering.Text(off); strings.Contains(text, "8082") || strings.Contains(text, "go.example.com") ||
		strings.Contains(text, "LINK_LISTEN") {
		t.Errorf("something of them is there while they are off:\n%s", text)
	}
	if _, err := rendering.Render(c, with(t, "minimal", `{"edge": {"links": {"enabled": true}}}`)); err == nil {
		t.Error("they need no public address")
	}
	on, err := rendering.Render(c, with(t, "minimal", linksOn))
	if err != nil {
		t.Fatal(err)
	}
	text := rendering.Text(on)
	for _, want := range []string{
		`{name: MILLRACE_LINK_LISTEN, value: ":8082"}`, `{name: MILLRACE_LINK_PUBLIC_URL, value: "https://go.example.com"}`,
		`{name: MILLRACE_LINK_CACHE_ENTRIES, value: "10000"}`,
		"{name: links, containerPort: 8082, protocol: TCP}", "{name: links, port: 80, targetPort: links, protocol: TCP}",
		"{port: 8082, protocol: TCP}",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("without %s", want)
		}
	}
	objects, err := rendering.Objects(on)
	if err != nil {
		t.Fatal(err)
	}
	rules, _, err := unstructured.NestedSlice(find(t, objects, "HTTPRoute", "millrace-links").Object, "spec", "rules")
	if err != nil {
		t.Fatal(err)
	}
	backends, _, err := unstructured.NestedSlice(rules[0].(map[string]any), "backendRefs")
	if err != nil || len(backends) != 1 || backends[0].(map[string]any)["name"] != "millrace-edge" {
		t.Errorf("the route leads to %v, %v", backends, err)
	}
	find(t, objects, "Ingress", "millrace-links")
}
