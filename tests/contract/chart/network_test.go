package chart_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/millrace/millrace/tests/contract/chart/rendering"
)

func policy(t *testing.T, objects []unstructured.Unstructured, name string) *networkingv1.NetworkPolicy {
	t.Helper()
	return policyIn(t, find(t, objects, "NetworkPolicy", name))
}

func policyIn(t *testing.T, object *unstructured.Unstructured) *networkingv1.NetworkPolicy {
	t.Helper()
	text, err := json.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	p := new(networkingv1.NetworkPolicy)
	if err := json.Unmarshal(text, p); err != nil {
		t.Fatal(err)
	}
	return p
}

// ports are those that pods may reach anywhere, and those that they may reach of each other.
func ports(p *networkingv1.NetworkPolicy) (anywhere, ours []int32) {
	for _, rule := range p.Spec.Egress {
		for _, port := range rule.Ports {
			if len(rule.To) == 0 {
				anywhere = append(anywhere, port.Port.IntVal)
			} else {
				ours = append(ours, port.Port.IntVal)
			}
		}
	}
	slices.Sort(anywhere)
	return slices.Compact(anywhere), ours
}

// What the settings name is reached: a billing service that is not would have every event
// rejected.
func TestThePoliciesLetThroughWhatTheSettingsName(t *testing.T) {
	t.Parallel()
	c, err := rendering.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, over     string
		anywhere, ours []int32
		clients        int // of the edge
	}{
		{"nothing", `{}`, []int32{53, 5432, 6379, 9000, 9092}, nil, 0},
		{"all", `{"config": {"billing": {"url": "https://b.example/x"}, "trace": {"endpoint": "http://otel:4318"}, "mail": {"from": "a@b.example", "smtp": {"addr": "smtp:587"}}}}`, []int32{53, 443, 587, 4318, 5432, 6379, 9000, 9092}, nil, 0},
		{"plain", `{"config": {"billing": {"url": "http://billing/x:y"}}}`, []int32{53, 80, 5432, 6379, 9000, 9092}, nil, 0},
		{
			"a resolver", `{"config": {"domains": {"resolver": "[::1]:5353"}}}`,
			[]int32{53, 5353, 5432, 6379, 9000, 9092},
			nil, 0,
		},
		{
			"a resolver at its port", `{"config": {"domains": {"resolver": "dns:53"}}}`,
			[]int32{53, 5432, 6379, 9000, 9092},
			nil, 0,
		},
		{"no probe", `{"config": {"probe": {"interval": "0s"}, "ingest": {"public_url": "https://in.example"}}, "networkPolicy": {"clients": [{"namespaceSelector": {}}]}}`, []int32{53, 5432, 6379, 9000, 9092}, nil, 1},
		{"a probe from outside", `{"config": {"probe": {"interval": "1m"}, "ingest": {"public_url": "https://in.example"}, "query": {"public_url": "https://api.example:8443"}}}`, []int32{53, 443, 5432, 6379, 8443, 9000, 9092}, []int32{8080, 8081}, 0},
		{"a probe within", `{"config": {"probe": {"interval": "1m", "ingest_url": "http://millrace-edge:8081", "query_url": "http://millrace-query:8080"}}, "networkPolicy": {"clients": [{"namespaceSelector": {}}]}}`, []int32{53, 5432, 6379, 8080, 8081, 9000, 9092}, []int32{8080, 8081}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := rendering.Render(c, with(t, "air-gapped", tt.over))
			if err != nil {
				t.Fatal(err)
			}
			objects, err := rendering.Objects(r)
			if err != nil {
				t.Fatal(err)
			}
			anywhere, ours := ports(policy(t, objects, "millrace"))
			if !slices.Equal(anywhere, tt.anywhere) || !slices.Equal(ours, tt.ours) {
				t.Errorf("pods may reach %d anywhere and %d of each other, want %d and %d", anywhere, ours, tt.anywhere, tt.ours)
			}
			from := policy(t, objects, "millrace-edge").Spec.Ingress[0].From
			if len(from) != tt.clients {
				t.Errorf("the edge is reached from %+v, want %d clients", from, tt.clients)
			}
			if tt.clients == 2 && from[1].PodSelector.MatchLabels["app.kubernetes.io/component"] != "query" {
				t.Errorf("the edge is not reached from the query host, which probes it, but from %+v", from[1])
			}
		})
	}
}

// While the jobs before an upgrade run, the policies in force are those of the release before, and those that are
// hooks themselves and come first.
func TestTheJobsBeforeAnUpgradeReachWhatItsSettingsName(t *testing.T) {
	t.Parallel()
	before := objectsWith(t, "air-gapped", `{}`)
	for over, want := range map[string]int32{
		`{"config": {"kafka": {"brokers": ["kafka.internal.example:9093"]}}}`:                  9093,
		`{"config": {"clickhouse": {"addr": ["clickhouse.internal.example:9440"]}}}`:           9440,
		`{"config": {"domains": {"resolver": "dns.internal.example:5353"}}}`:                   5353,
		`{"networkPolicy": {"backendPorts": [6432]}}`:                                          6432,
		`{"networkPolicy": {"extraEgress": [{"ports": [{"port": 3128, "protocol": "TCP"}]}]}}`: 3128,
	} {
		after := objectsWith(t, "air-gapped", over)
		for _, name := range []string{"migrate", "topics"} {
			job := workloadOf(t, after, name)
			var reached []int32
			for _, p := range append(policies(t, before, ""), policies(t, after, weight(&job.object))...) {
				selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
				if err != nil {
					t.Fatal(err)
				}
				if selector.Matches(labels.Set(job.pod.Labels)) {
					anywhere, _ := ports(p)
					reached = append(reached, anywhere...)
				}
			}
			if !slices.Contains(reached, want) {
				t.Errorf("%s: the job %s reaches %d, want %d among them", over, name, reached, want)
			}
		}
	}
}

// policies returns those that are no hooks, or else those before hooks of a weight.
func policies(t *testing.T, objects []unstructured.Unstructured, before string) (all []*networkingv1.NetworkPolicy) {
	t.Helper()
	for i := range objects {
		if objects[i].GetKind() != "NetworkPolicy" {
			continue
		}
		own := weight(&objects[i])
		if own == before || before != "" && own != "" && number(t, own) < number(t, before) {
			all = append(all, policyIn(t, &objects[i]))
		}
	}
	return all
}

// weight is empty for what is no hook of an upgrade.
func weight(object *unstructured.Unstructured) string {
	if !strings.Contains(object.GetAnnotations()["helm.sh/hook"], "pre-upgrade") {
		return ""
	}
	return object.GetAnnotations()["helm.sh/hook-weight"]
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A DNS answer that is too long for UDP is asked for again by TCP.
func TestResolversAreAskedByUDPAndTCP(t *testing.T) {
	t.Parallel()
	objects := objectsWith(t, "air-gapped", `{"config": {"domains": {"resolver": "dns.internal.example:5353"}}}`)
	var got []string
	for _, port := range policy(t, objects, "millrace").Spec.Egress[0].Ports {
		got = append(got, fmt.Sprintf("%s %d", *port.Protocol, port.Port.IntVal))
	}
	if want := []string{"UDP 53", "TCP 53", "UDP 5353", "TCP 5353"}; !slices.Equal(got, want) {
		t.Errorf("pods may ask %v, want %v", got, want)
	}
}
