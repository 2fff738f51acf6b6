package queryapi

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api/management"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/testkit/apitest"
)

func TestTheDocumentIsOpenAPIAndHasEveryOperation(t *testing.T) {
	t.Parallel()
	resp, body := call(t, http.MethodGet, "/openapi.json", "", "")
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != "application/json" ||
		resp.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%d %s, %v", resp.StatusCode, got, resp.Header)
	}
	doc, err := apitest.ParseOpenAPI([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Compile(); err != nil {
		t.Error(err)
	}
	described := doc.Operations()
	for _, r := range Routes {
		// What describes the host is not described.
		if !slices.Contains(described, r.Method+" "+r.Path) && !strings.HasPrefix(r.Path, "/docs") &&
			r.Path != "/openapi.json" {
			t.Errorf("%s %s is not in the document", r.Method, r.Path)
		}
	}
	for _, res := range management.Resources(management.Deps{}) {
		for _, o := range res.Operations {
			if name := "POST " + rpc.Path(res.Name, o.Name); !slices.Contains(described, name) {
				t.Errorf("%s is not in the document", name)
			}
		}
	}
	for _, s := range subjects {
		if s.parameter == "schedule_id" { // there are no monitors yet
			continue
		}
		for _, path := range []string{"/v1/query", "/v1/query/compile"} {
			if !strings.Contains(operationOf(t, body, path), `"name":"`+s.parameter+`"`) {
				t.Errorf("POST %s does not say that it takes %s", path, s.parameter)
			}
		}
	}
	again, _ := call(t, http.MethodGet, "/openapi.json", "", "", "If-None-Match", resp.Header.Get("ETag"))
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("asked again: %d", again.StatusCode)
	}
}

// operationOf is what a document says of a route that takes POST.
func operationOf(t *testing.T, document, path string) string {
	t.Helper()
	var doc struct {
		Paths map[string]struct {
			Post json.RawMessage `json:"post"`
		} `json:"paths"`
	}
	if err := json.Unmarshal([]byte(document), &doc); err != nil {
		t.Fatal(err)
	}
	return string(doc.Paths[path].Post)
}

func TestTheReferencePageNeedsNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	resp, body := call(t, http.MethodGet, "/docs", "", "")
	if resp.StatusCode != http.StatusOK ||
		!strings.HasPrefix(resp.Header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'self'") {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	for _, link := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
		switch target := link[1]; {
		case strings.HasPrefix(target, "#"):
			if !strings.Contains(body, `id="`+target[1:]+`"`) {
				t.Errorf("the page links to %s, which it does not have", target)
			}
		case strings.HasPrefix(target, "/"):
			if resp, _ := call(t, http.MethodGet, target, "", ""); resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %d", target, resp.StatusCode)
			}
		default:
			t.Errorf("the page needs %s", target)
		}
	}
	if strings.Contains(body, "<script") || !strings.Contains(body, "POST /rpc/session/get") {
		t.Errorf("the page has a script, or lacks operations:\n%s", body)
	}
	if resp, _ := call(t, http.MethodGet, "/DOCS/", "", ""); resp.StatusCode != http.StatusOK {
		t.Errorf("in capitals: %d", resp.StatusCode)
	}
}
