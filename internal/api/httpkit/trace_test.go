package httpkit

import (
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/platform/telemetry/telemetrytest"
)

// What is traced costs, and fills a collector: whether it is, is for the settings to say,
// and for the proxies that they name.
func TestACallerDoesNotDecideWhatIsTraced(t *testing.T) {
	t.Parallel()
	const id = "0af7651916cd43dd8448eb211c80319c"
	const sampled, unsampled = "00-" + id + "-b7ad6b7169203331-01", "00-" + id + "-b7ad6b7169203331-00"
	proxy := Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	for _, tc := range []struct {
		name        string
		recorder    *telemetrytest.Recorder
		proxies     Proxies
		traceparent string
		traced      bool
		continues   bool // the caller's trace
		links       int
	}{
		{"a caller's sampled trace, at a ratio of 0", telemetrytest.New(t), Proxies{}, sampled, false, false, 0},
		{"a caller's sampled trace, at a ratio of 1", telemetrytest.Sampling(t), Proxies{}, sampled, true, false, 1},
		{"a caller's unsampled trace, at a ratio of 1", telemetrytest.Sampling(t), Proxies{}, unsampled, true, false, 1},
		{"no trace, at a ratio of 1", telemetrytest.Sampling(t), Proxies{}, "", true, false, 0},
		{"nonsense, at a ratio of 1", telemetrytest.Sampling(t), Proxies{}, "00-nonsense", true, false, 0},
		{"a proxy's sampled trace, at a ratio of 0", telemetrytest.New(t), proxy, sampled, true, true, 0},
		{"a proxy's unsampled trace, at a ratio of 1", telemetrytest.Sampling(t), proxy, unsampled, false, false, 0},
		{"no trace of a proxy's, at a ratio of 1", telemetrytest.Sampling(t), proxy, "", true, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			app := New(Config{Host: Ingestion, Proxies: tc.proxies}, Deps{
				Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Tracer: tc.recorder.Tracer,
			})
			Handle(app, "GET", "/trace", func(c *fiber.Ctx) error { return c.SendString(Traceparent(c)) })
			responses := raw(t, serve(t, app), "GET /trace HTTP/1.1\r\nHost: x\r\nTraceparent: "+tc.traceparent+"\r\n\r\n")
			if len(responses) != 1 {
				t.Fatalf("%d answers", len(responses))
			}
			if passed := responses[0].body; strings.Contains(passed, id) != tc.continues || (passed != "") != tc.traced {
				t.Errorf("records are given the trace %q", passed)
			}
			spans := tc.recorder.Ended()
			if (len(spans) == 1) != tc.traced ||
				tc.traced && ((spans[0].TraceID == id) != tc.continues || spans[0].Links != tc.links) {
				t.Errorf("spans %+v", spans)
			}
		})
	}
}
