package httpkit

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/apierr"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing")

// declaredCodes reads the codes from the source of package apierr, so that none
// can be forgotten here.
func declaredCodes(t *testing.T) []apierr.Code {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../../contract/apierr/code.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []apierr.Code
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if ok && lit.Kind == token.STRING {
			code, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, apierr.Code(code))
		}
		return true
	})
	return codes
}

func TestEveryCodeHasOneRowInTheOrderOfPackageApierr(t *testing.T) {
	t.Parallel()
	var rows []apierr.Code
	for _, r := range Codes {
		rows = append(rows, r.Code)
		if r.Status < 400 || r.Status > 599 || r.Message == "" || r.Meaning == "" {
			t.Errorf("row of %s is incomplete: %+v", r.Code, r)
		}
		if r.RetryAfter > 0 && !r.Retryable() {
			t.Errorf("row of %s says when to retry what is not retryable", r.Code)
		}
	}
	if diff := cmp.Diff(declaredCodes(t), rows); diff != "" {
		t.Errorf("codes of package fault and rows of Codes (-fault +rows):\n%s", diff)
	}
}

func TestStatusesAndMessagesAreThoseOfTheSpecification(t *testing.T) {
	t.Parallel()
	for _, want := range []struct { // specification 7.3 and 7.2
		code    apierr.Code
		host    Host
		status  int
		message string
	}{
		{apierr.Validation, Ingestion, 400, "Invalid request body"},
		{apierr.WebsiteMissingOrganization, Ingestion, 400, "Website missing organization"},
		{apierr.AuthRequired, Ingestion, 401, "API key or website_id required"},
		{apierr.QuotaExceeded, Ingestion, 402, "Event quota exceeded"},
		{apierr.Forbidden, Ingestion, 403, "API key missing track:events scope"},
		{apierr.OriginNotAuthorized, Ingestion, 403, "Origin not authorized"},
		{apierr.IPNotAuthorized, Ingestion, 403, "IP address not authorized"},
		{apierr.WebsiteNotFound, Ingestion, 404, "Website not found"},
		{apierr.PayloadTooLarge, Ingestion, 413, "Payload too large"},
		{apierr.RateLimited, Ingestion, 429, "Rate limit exceeded"},
		{apierr.Internal, Ingestion, 500, "Internal server error"},
		{apierr.BillingUnavailable, Ingestion, 503, "Billing check unavailable"},
		{apierr.AuthRequired, Query, 401, "Authentication required"},
		{apierr.Forbidden, Query, 403, "Insufficient permissions"},
		{apierr.RateLimited, Query, 429, "Rate limit exceeded"},
	} {
		if r := RowOf(want.code); r.Status != want.status || r.message(want.host) != want.message {
			t.Errorf("%s on the %s host = %d %q, want %d %q",
				want.code, want.host, r.Status, r.message(want.host), want.status, want.message)
		}
	}
	if r := RowOf(apierr.ServiceUnavailable); r.Status != 503 || r.RetryAfter != 5*time.Second {
		t.Errorf("SERVICE_UNAVAILABLE = %d after %s, want 503 after 5s", r.Status, r.RetryAfter)
	}
}

func TestErrorBodiesMatchTheirGoldenFiles(t *testing.T) {
	t.Parallel()
	details := []apierr.Detail{
		{Index: 3, Field: "name", Rule: "too_long", Message: "name must have at most 256 characters"},
		{
			Index: apierr.NoIndex, Field: `parameters[0]`, Rule: "unknown", Message: "Unknown query type: top_page",
			Suggestion: "Did you mean 'top_pages'?",
		},
	}
	for _, host := range []Host{Ingestion, Query} {
		for _, row := range Codes {
			t.Run(host.String()+"/"+string(row.Code), func(t *testing.T) {
				t.Parallel()
				f := apierr.New(row.Code)
				if row.Code == apierr.Validation || row.Code == apierr.PayloadTooLarge {
					f.Details = details
				}
				if row.Code == apierr.RateLimited {
					f.RetryAfter = 1500 * time.Millisecond
					f.Rate = &apierr.Rate{Limit: 600, Reset: time.UnixMilli(1_790_000_000_123)}
				}
				compareGolden(t, filepath.Join(host.String(), string(row.Code)+".json"),
					errorBody(host, resolve(f), []byte("2c1f0b6e-0000-4000-8000-000000000000")))
			})
		}
	}
}

func TestA429SaysInItsHeaderWhenToAskAgain(t *testing.T) {
	t.Parallel()
	for _, host := range []Host{Ingestion, Query} {
		app := New(Config{Host: host}, Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
		Handle(app, "GET", "/", func(*fiber.Ctx) error {
			return &apierr.Error{
				Code:       apierr.RateLimited,
				RetryAfter: 59_001 * time.Millisecond,
				Rate:       &apierr.Rate{Limit: 120, Remaining: 0, Reset: time.UnixMilli(1_790_000_000_123)},
			}
		})
		resp := do(t, app, "GET", "/", nil, "")
		for name, want := range map[string]string{
			"Retry-After": "60", "X-RateLimit-Limit": "120", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1790000000123",
		} {
			if got := resp.header.Get(name); resp.status != 429 || got != want {
				t.Errorf("%s host: %d, %s %q, want 429 and %q", host, resp.status, name, got, want)
			}
		}
		if resp.header.Get("X-Request-ID") == "" {
			t.Errorf("%s host: no request id", host)
		}
	}
}

func TestAnOwnMessageReplacesTheStandardOneExceptOfInternalErrors(t *testing.T) {
	t.Parallel()
	for code, want := range map[apierr.Code]string{
		apierr.AccessDenied: "\"<own>\" \u00e9", apierr.Internal: "Internal server error",
	} {
		got := parse(t,
			string(errorBody(Ingestion, resolve(&apierr.Error{Code: code, Message: "\"<own>\" \u00e9"}), []byte("id"))))
		if got.Error != want || got.Message != want {
			t.Errorf("%s says %q and %q, want %q twice", code, got.Error, got.Message, want)
		}
	}
}

// body is what tests read of an error body.
type body struct {
	Error     string `json:"error"`
	Message   string `json:"message"`
	RequestID string `json:"requestId"`
}

func parse(t *testing.T, text string) body {
	t.Helper()
	var b body
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return b
}

// compareGolden compares compact JSON with an indented file under testdata.
func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	var indented bytes.Buffer
	if err := json.Indent(&indented, got, "", "  "); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	indented.WriteByte('\n')
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, indented.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), indented.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
