package watching

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

// Spans arrive when a batch of them is sent, five seconds after the first.
const arrival = 30 * time.Second

const (
	eventTrace = "0af7651916cd43dd8448eb211c80319c"
	otherTrace = "1af7651916cd43dd8448eb211c80319c"
	queryTrace = "2af7651916cd43dd8448eb211c80319c"
	agent      = "made-up-agent/1.0"
)

// post sends a request that belongs to a trace of the caller's.
func post(t *testing.T, url, key, trace, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", key)
	req.Header.Set("User-Agent", agent)
	req.Header.Set("X-Forwarded-For", "203.0.113.7")
	req.Header.Set("Traceparent", "00-"+trace+"-b7ad6b7169203331-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("POST %s: %s", url, resp.Status)
	}
}

func followAnEvent(t *testing.T, s *harness.System, spans *collector) {
	t.Helper()
	url := s.IngestURL + "/track?website_id=" + s.WebsiteID
	post(t, url, s.Key, eventTrace, `{"name":"traced","eventId":"t1"}`)
	post(t, url, s.Key, otherTrace, `{"name":"traced","eventId":"t2"}`)
	wait(t, spans, eventTrace, `POST /track of ingest-edge, server
  send events.v1 of ingest-edge, producer
  store events.v1 of sink, consumer
    INSERT events.v1 of sink, client
`)
	saysNothingOfTheCaller(t, spans.of(eventTrace))
	// Both stand in one range, or each in its own: then the second one has a span too.
	testkit.Eventually(t, arrival, func() error {
		for _, of := range spans.of(eventTrace) {
			for _, l := range of.GetLinks() {
				if hex.EncodeToString(l.GetTraceId()) == otherTrace {
					return nil
				}
			}
		}
		if got := tree(spans.of(otherTrace)); strings.Contains(got, "store events.v1") {
			return nil
		}
		return fmt.Errorf("the second event is in no span of the sink: %s", tree(spans.of(otherTrace)))
	})
}

func followAQuery(t *testing.T, s *harness.System, spans *collector) {
	t.Helper()
	post(t, s.QueryURL+"/v1/query?website_id="+s.WebsiteID, s.Key, queryTrace,
		`{"parameters":["custom_events"],"preset":"today"}`)
	wait(t, spans, queryTrace, "POST /v1/query of query, server\n  query custom_events of query, client\n")
	saysNothingOfTheCaller(t, spans.of(queryTrace))
}

func wait(t *testing.T, spans *collector, trace, want string) {
	t.Helper()
	testkit.Eventually(t, arrival, func() error {
		if diff := cmp.Diff(want, tree(spans.of(trace))); diff != "" {
			return fmt.Errorf("spans (-want +got):\n%s", diff)
		}
		return nil
	})
}

// tree writes the spans of a trace, each below its parent.
func tree(all []span) string {
	ids := map[string]bool{}
	for _, s := range all {
		ids[string(s.GetSpanId())] = true
	}
	var b strings.Builder
	var write func(parent string, depth int)
	write = func(parent string, depth int) {
		for _, s := range all {
			if string(s.GetParentSpanId()) == parent || depth == 0 && !ids[string(s.GetParentSpanId())] {
				kind := strings.ToLower(strings.TrimPrefix(s.GetKind().String(), "SPAN_KIND_"))
				fmt.Fprintf(&b, "%s%s of %s, %s\n", strings.Repeat("  ", depth), s.GetName(), s.service, kind)
				write(string(s.GetSpanId()), depth+1)
			}
		}
	}
	write("", 0)
	return b.String()
}

// saysNothingOfTheCaller fails when an attribute tells who asked, or when one that
// the conventions demand is missing.
func saysNothingOfTheCaller(t *testing.T, all []span) {
	t.Helper()
	for _, s := range all {
		for _, a := range s.GetAttributes() {
			if said := a.GetKey() + "=" + a.GetValue().String(); strings.Contains(said, agent) ||
				strings.Contains(said, "203.0.113.7") || strings.Contains(said, "127.0.0.1") {
				t.Errorf("span %s says %s", s.GetName(), said)
			}
		}
		for _, key := range map[string][]string{
			"server": {"http.request.method", "http.route"}, "producer": {"messaging.system", "messaging.destination.name"},
			"consumer": {"messaging.system", "messaging.destination.name", "messaging.destination.partition.id"},
			"client":   {"db.system.name", "db.operation.name"},
		}[strings.ToLower(strings.TrimPrefix(s.GetKind().String(), "SPAN_KIND_"))] {
			if text(s.GetAttributes(), key) == "" {
				t.Errorf("span %s has no %s", s.GetName(), key)
			}
		}
	}
}

func text(attributes []*commonv1.KeyValue, key string) string {
	for _, a := range attributes {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}
