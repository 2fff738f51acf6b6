package watching

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector receives spans as an OpenTelemetry collector does.
type collector struct {
	url string

	mu    sync.Mutex
	spans []span
}

// span is a span and the process that it comes from.
type span struct {
	*tracev1.Span
	service string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// ServeHTTP implements http.Handler.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var sent coltrace.ExportTraceServiceRequest
	unzipped, err := gzip.NewReader(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(unzipped)
	if err != nil || proto.Unmarshal(body, &sent) != nil {
		http.Error(w, "no export of spans", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, from := range sent.GetResourceSpans() {
		service := text(from.GetResource().GetAttributes(), "service.name")
		for _, of := range from.GetScopeSpans() {
			for _, s := range of.GetSpans() {
				c.spans = append(c.spans, span{s, service})
			}
		}
	}
}

// of returns the spans of a trace, in the order of their beginnings.
func (c *collector) of(trace string) []span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []span
	for _, s := range c.spans {
		if hex.EncodeToString(s.GetTraceId()) == trace {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b span) int { return int(a.GetStartTimeUnixNano()) - int(b.GetStartTimeUnixNano()) })
	return all
}
