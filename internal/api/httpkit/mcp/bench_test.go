package mcp

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkCall calls a tool that returns its arguments: through an endpoint, and through the SDK on
// net/http, without keys and limits.
func BenchmarkCall(b *testing.B) {
	b.Run("endpoint", func(b *testing.B) { benchmarkCall(b, newHost(b).url) })
	b.Run("net/http", func(b *testing.B) {
		server := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
		tool := Tool{Name: "echo", Input: []byte(object)}
		server.AddTool(tool.Definition(),
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				answer := Answer{Record: req.Params.Arguments}
				return answer.result()
			})
		bare := httptest.NewServer(mcp.NewStreamableHTTPHandler(
			func(*http.Request) *mcp.Server { return server },
			&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, Logger: slog.New(slog.DiscardHandler)}))
		b.Cleanup(bare.Close)
		benchmarkCall(b, bare.URL)
	})
}

func benchmarkCall(b *testing.B, url string) {
	b.Helper()
	message := call("echo", `{"websiteId":"web_1","queries":[{"type":"summary","preset":"today"}]}`)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b.Cleanup(client.CloseIdleConnections)
	b.ReportAllocs()
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, strings.NewReader(message))
			if err != nil {
				b.Error(err)
				return
			}
			req.Header = http.Header{
				"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "X-Api-Key": {"reader"},
			}
			res, err := client.Do(req)
			if err != nil {
				b.Error(err)
				return
			}
			text, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || !strings.Contains(string(text), "structuredContent") {
				b.Error(fmt.Errorf("%d %s, %w", res.StatusCode, text, err))
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}
