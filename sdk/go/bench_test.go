//go:build go1.25

package millrace

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"
)

// instant accepts everything at once and looks at nothing.
type instant struct{}

// RoundTrip implements http.RoundTripper.
func (instant) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader([]byte(accepted.body))),
	}, nil
}

// BenchmarkTrack is what an event costs its program, less the network.
func BenchmarkTrack(b *testing.B) {
	for _, bm := range []struct {
		name       string
		properties map[string]any
	}{
		{"bare", nil},
		{"with 5 properties", map[string]any{"plan": "pro", "amount": 12.5, "currency": "EUR", "items": 3, "first": true}},
	} {
		for _, size := range []int{10, 100} {
			b.Run(bm.name+", batches of "+map[int]string{10: "10", 100: "100"}[size], func(b *testing.B) {
				c, err := New(goodKey, WithHTTPClient(&http.Client{Transport: instant{}}),
					WithLogger(slog.New(slog.DiscardHandler)), WithBatchSize(size), WithMaxQueueSize(100_000),
					WithBatchTimeout(time.Hour), WithWebsiteID("web_1"))
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if r := c.Track(b.Context(), Event{Name: "purchase", ProfileID: "user-7", Properties: bm.properties}); !r.Success {
						b.Fatal(r.Err())
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
				if r := c.Close(b.Context()); !r.Success {
					b.Fatal(r.Err())
				}
			})
		}
	}
}
