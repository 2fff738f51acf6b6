package queryapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/analytics"
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
			r.Path != "/openapi.json" && !strings.HasPrefix(r.Path, "/.well-known/") && r.Path != MCPPath+"/server-card" {
			t.Errorf("%s %s is not in the document", r.Method, r.Path)
		}
	}
	for _, s := range subjects {
		if strings.Count(body, `"in":"query","name":"`+s.parameter+`"`) < 2 {
			t.Errorf("the document does not say that a query, and a compiled one, take %s", s.parameter)
		}
	}
	for _, res := range management.Resources(management.Deps{}) {
		for _, o := range res.Operations {
			if name := "POST " + rpc.Path(res.Name, o.Name); !slices.Contains(described, name) {
				t.Errorf("%s is not in the document", name)
			}
		}
	}
	again, _ := call(t, http.MethodGet, "/openapi.json", "", "", "If-None-Match", resp.Header.Get("ETag"))
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("asked again: %d", again.StatusCode)
	}
}

// What a test reads of the document.
type (
	describedSchema struct {
		Properties           map[string]describedSchema `json:"properties"`
		Type                 any                        `json:"type"`
		Description          string                     `json:"description"`
		Ref                  string                     `json:"$ref"`
		Items                *describedSchema           `json:"items"`
		OneOf                []describedSchema          `json:"oneOf"`
		AdditionalProperties any                        `json:"additionalProperties"`
	}
	describedMedia struct {
		Schema describedSchema `json:"schema"`
	}
	describedBody struct {
		Content map[string]describedMedia `json:"content"`
	}
	describedParameter struct {
		Name        string `json:"name"`
		In          string `json:"in"`
		Description string `json:"description"`
	}
	describedOperation struct {
		Parameters  []describedParameter `json:"parameters"`
		RequestBody describedBody        `json:"requestBody"`
	}
	describedHost struct {
		Paths      map[string]map[string]describedOperation `json:"paths"`
		Components struct {
			Schemas map[string]describedSchema `json:"schemas"`
		} `json:"components"`
	}
)

// A client that is made of the document can say all that a body and a query string may say.
func TestTheDocumentHasAllThatAQueryMaySay(t *testing.T) {
	t.Parallel()
	_, body := call(t, http.MethodGet, "/openapi.json", "", "")
	var doc describedHost
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatal(err)
	}
	same := func(what string, s describedSchema, want []string) {
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(s.Properties))); diff != "" {
			t.Errorf("%s (-decoder +document):\n%s", what, diff)
		}
		for name, p := range s.Properties {
			if p.Type == nil && p.Description == "" && p.Ref == "" && p.OneOf == nil {
				t.Errorf("%s: nothing is said of %s", what, name)
			}
		}
	}
	request, object, filter := analytics.BodyKeys()
	query := doc.Paths["/v1/query"]["post"].RequestBody.Content["application/json"].Schema.OneOf[0]
	same("a request", query, request)
	named := query.Properties["parameters"].Items.OneOf[1]
	same("a parameter", named, object)
	if named.AdditionalProperties != true {
		t.Error("a parameter takes no options")
	}
	same("a filter", doc.Components.Schemas[filterName], filter)
	var compiled []string
	for _, f := range compileFields {
		compiled = append(compiled, f.name)
	}
	slices.Sort(compiled)
	same("what is compiled", doc.Paths["/v1/query/compile"]["post"].RequestBody.Content["application/json"].Schema,
		slices.Compact(compiled))

	names := []string{zoneParameter}
	for _, s := range subjects {
		names = append(names, s.parameter)
	}
	slices.Sort(names)
	for _, path := range []string{"/v1/query", "/v1/query/compile"} {
		var described []string
		for _, p := range doc.Paths[path]["post"].Parameters {
			if p.Description == "" {
				t.Errorf("%s: nothing is said of %s", path, p.Name)
			}
			if p.In == "query" {
				described = append(described, p.Name)
			}
		}
		slices.Sort(described)
		if diff := cmp.Diff(names, described); diff != "" {
			t.Errorf("the query string of %s (-host +document):\n%s", path, diff)
		}
	}
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
