package apitest

import (
	"net/http"
	"strings"
	"testing"
)

const small = `{"openapi":"3.1.0","info":{"title":"t","version":"1"},
"paths":{"/things":{"post":{"responses":{
"200":{"description":"ok","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing"}}}},
"default":{"$ref":"#/components/responses/Error"}}}},
"/things/{name}.txt":{"get":{"parameters":[{"name":"name","in":"path","required":true,"schema":{"type":"string"}}],
"responses":{"200":{"description":"ok","content":{"text/plain":{}}}}}}},
"components":{"schemas":{"Thing":{"type":"object","required":["id"],"properties":{"id":{"type":"string"}},"additionalProperties":false}},
"responses":{"Error":{"description":"no","content":{"application/json":{"schema":{"type":"object","required":["code"]}}}}}}}`

func TestResponsesAreHeldAgainstTheDocument(t *testing.T) {
	t.Parallel()
	doc, err := ParseOpenAPI([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, method, path string
		status             int
		contentType, body  string
		problem            string
	}{
		{"as described", "POST", "/things", 200, "application/json", `{"id":"a"}`, ""},
		{"an error as described", "POST", "/things", 404, "application/json; charset=utf-8", `{"code":"NOT_FOUND"}`, ""},
		{"a field of another type", "POST", "/things", 200, "application/json", `{"id":7}`, "got number, want string"},
		{
			"a field more", "POST", "/things", 200, "application/json", `{"id":"a","b":1}`,
			"additional properties 'b' not allowed",
		},
		{"an error without its code", "POST", "/things", 500, "application/json", `{}`, "missing property 'code'"},
		{"another success", "POST", "/things", 201, "application/json", `{"id":"a"}`, "which the document does not have"},
		{
			"another content", "POST", "/things", 200, "text/plain", `{"id":"a"}`,
			"nothing at paths /things post responses 200 content text/plain",
		},
		{"no JSON", "POST", "/things", 200, "application/json", `id`, "answers no JSON"},
		{"a path with a parameter", "GET", "/things/a.txt", 200, "text/plain", `a`, ""},
		{"another content of it", "GET", "/things/a.txt", 200, "text/html", `a`, "paths /things/{name}.txt get"},
		{"a path that only begins so", "GET", "/things/a.txt/b", 200, "text/plain", `a`, "is not in the document"},
		{"a success from nowhere", "GET", "/others", 200, "application/json", `{}`, "is not in the document"},
		{"an error from nowhere", "GET", "/others", 404, "application/json", `{}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := doc.Check(tc.method, tc.path, tc.status, http.Header{"Content-Type": {tc.contentType}}, []byte(tc.body))
			if (err == nil) != (tc.problem == "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("Check() = %v, want %q", err, tc.problem)
			}
		})
	}
}

func TestWhatIsNoOpenAPIIsRejected(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `[]`, `{"openapi":"3.1.0"}`, strings.Replace(small, "3.1.0", "3.0.0", 1),
		strings.Replace(small, `"description":"ok",`, "", 1),
	} {
		if _, err := ParseOpenAPI([]byte(text)); err == nil {
			t.Errorf("%.60q is taken", text)
		}
	}
}
