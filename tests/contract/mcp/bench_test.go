package mcp

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/millrace/millrace/tests/harness"
)

// BenchmarkQuery asks the same question at both surfaces, one request at a time: run_query of the MCP
// endpoint, and /v1/query.
func BenchmarkQuery(b *testing.B) {
	s := harness.New(b, harness.InProcess, harness.Options{})
	const question = `{"queries":[{"type":"top_pages","startDate":"2026-03-01","endDate":"2026-03-02","limit":50}]`
	for _, c := range []struct{ name, path, body string }{
		{"run_query", "/v1/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_query","arguments":` + question +
			`,"websiteId":"` + s.WebsiteID + `"}}}`},
		{"v1-query", "/v1/query?website_id=" + s.WebsiteID, `{"parameters":["top_pages"],"startDate":"2026-03-01","endDate":"2026-03-02","limit":50}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			var key string
			for n := 0; b.Loop(); n++ {
				if n%30 == 0 { // a key may call run_query so often a minute
					b.StopTimer()
					key = s.NewKey(b)
					b.StartTimer()
				}
				req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, s.QueryURL+c.path, strings.NewReader(c.body))
				if err != nil {
					b.Fatal(err)
				}
				req.Header = http.Header{
					"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "X-Api-Key": {key},
				}
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				text, err := io.ReadAll(res.Body)
				res.Body.Close()
				if err != nil || res.StatusCode != http.StatusOK || bytes.Contains(text, []byte(`"isError"`)) {
					b.Fatalf("%d %s, %v", res.StatusCode, text, err)
				}
			}
		})
	}
}
