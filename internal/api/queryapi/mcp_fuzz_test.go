package queryapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api/httpkit/mcp"
)

// fuzzedTools are the tools whose calls need nothing but what newApp has.
var fuzzedTools = []string{"run_query", "compile_query", "list_query_types", "get_ingestion_health", "get_link_report"}

// FuzzToolArguments holds the answer to any arguments to what a client relies on: a small result, or
// an error of the arguments that names no other tenant.
func FuzzToolArguments(f *testing.F) {
	for _, arguments := range []string{
		`{}`, `null`, `[]`, `{"websiteId":"web_1","queries":[{"type":"summary","preset":"today"}]}`,
		`{"websiteId":"web_9","queries":[{"type":"summary","preset":"today"}]}`,
		`{"queries":[{"type":"events_by_date","startDate":"2026-03-01","endDate":"2026-03-02","granularity":"hour"}]}`,
		`{"queries":[{"type":"top_referrers","preset":"today","filters":[{"or":[{"field":"path","op":"eq","value":"/"}]}]}]}`,
		`{"queries":[{"type":"summary","preset":"today","options":{"name":"x","id":7}}],"cursor":"W3sicSI6MCwicCI6Mn1d"}`,
		`{"type":"summary","from":"2026-03-01","to":"2026-03-02","timezone":"Europe/Berlin"}`,
		`{"names":["summary"]}`, `{"search":"\u0000"}`, `{"linkId":"lnk_1"}`,
	} {
		for i := range fuzzedTools {
			f.Add(uint(i), arguments)
		}
	}
	app, err := newApp()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, tool uint, arguments string) {
		if !json.Valid([]byte(arguments)) {
			return // the protocol rejects the message
		}
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` +
			fuzzedTools[tool%uint(len(fuzzedTools))] + `","arguments":` + arguments + `}}`
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, MCPPath, strings.NewReader(body))
		req.Header.Set("X-Api-Key", "global")
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := app.Test(req, -1)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		checkAnswer(t, resp.StatusCode, text)
	})
}

func checkAnswer(t *testing.T, status int, text []byte) {
	t.Helper()
	var got struct {
		Error  *struct{} `json:"error"`
		Result *struct {
			IsError           bool            `json:"isError"`
			StructuredContent json.RawMessage `json:"structuredContent"`
			Content           []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"result"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%d %s: %v", status, text, err)
	}
	if got.Result == nil { // arguments that the protocol rejects
		if got.Error == nil || status >= http.StatusInternalServerError {
			t.Fatalf("%d %s", status, text)
		}
		return
	}
	if strings.Contains(string(text), "org_2") || len(text) > mcp.MaxAnswer+100 {
		t.Fatalf("%d bytes: %.500s", len(text), text)
	}
	if !got.Result.IsError {
		if len(got.Result.StructuredContent) == 0 {
			t.Fatalf("no answer: %s", text)
		}
		return
	}
	var failed struct {
		Error mcp.Error `json:"error"`
	}
	if err := json.Unmarshal([]byte(got.Result.Content[0].Text), &failed); err != nil {
		t.Fatal(err)
	}
	if failed.Error.Code == mcp.Internal || failed.Error.Message == "" {
		t.Fatalf("%s", text)
	}
}
