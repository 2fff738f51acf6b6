package ingestapi

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/testkit/apitest"
)

func TestTheDocumentIsOpenAPIAndHasEveryRouteAndField(t *testing.T) {
	t.Parallel()
	text, err := Describe("https://in.example.com", []string{"millrace-client-id"})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := apitest.ParseOpenAPI(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Compile(); err != nil {
		t.Error(err)
	}
	described := doc.Operations()
	for _, r := range Routes {
		if name := r.Method + " " + pathOf(r.Path); !slices.Contains(described, name) {
			t.Errorf("%s is not in the document", name)
		}
		if r.In != nil && (r.Topic == "" || len(r.Responses) == 0) || r.Help == "" {
			t.Errorf("%s %s says too little: %+v", r.Method, r.Path, r)
		}
	}
	var parsed struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Enum []any `json:"enum"`
				} `json:"properties"`
				Required []string `json:"required"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &parsed); err != nil {
		t.Fatal(err)
	}
	for _, form := range event.Forms {
		schema := parsed.Components.Schemas[schemaName(form)]
		for _, f := range form.Fields {
			described, ok := schema.Properties[f.Name]
			if !ok || slices.Contains(schema.Required, f.Name) != f.Required {
				t.Errorf("%s of %s is described otherwise", f.Name, form.Name)
			}
			if words := described.Enum; len(words) > 0 &&
				(slices.Contains(words, any("")) != (f.Min == 0) || slices.Contains(words, nil) == f.Required) {
				t.Errorf("%s of %s is one of %v; the host takes an empty text for none: %t", f.Name, form.Name, words, f.Min == 0)
			}
		}
	}
	if !strings.Contains(string(text), `"servers":[{"url":"https://in.example.com"}]`) {
		t.Error("the document does not say where the host is")
	}
}

// Who generates a client learns each rejection, with the headers by which it is dealt with.
func TestTheDocumentHasTheRejections(t *testing.T) {
	t.Parallel()
	text, err := Describe("", nil)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Description string `json:"description"`
			Parameters  []struct {
				Name string `json:"name"`
			} `json:"parameters"`
			Responses map[string]struct {
				Description string         `json:"description"`
				Headers     map[string]any `json:"headers"`
			} `json:"responses"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	all := []string{"400", "401", "402", "403", "404", "413", "429", "500", "503"}
	for _, r := range Routes {
		if r.In == nil {
			continue
		}
		op := doc.Paths[r.Path][strings.ToLower(r.Method)]
		for _, status := range all {
			row, described := op.Responses[status]
			later := status == "429" || status >= "500"
			if want := r.Method == "POST" || later; described != want {
				t.Errorf("%s: %s is described: %t", r.Path, status, described)
			}
			if described && (row.Headers["Retry-After"] != nil) != (status == "429" || status == "503") {
				t.Errorf("%s: the headers of %s are %v", r.Path, status, row.Headers)
			}
		}
		if limited := op.Responses["429"].Headers; limited["X-RateLimit-Reset"] == nil || limited["X-Request-Id"] == nil {
			t.Errorf("%s: the headers of 429 are %v", r.Path, limited)
		}
		if why := op.Responses["503"].Description; !strings.Contains(why, "DELIVERY_UNAVAILABLE") ||
			!strings.Contains(why, "BILLING_UNAVAILABLE") {
			t.Errorf("%s: 503 is said to be %q", r.Path, why)
		}
	}
	pixel := doc.Paths["/px.jpg"]["get"]
	var names []string
	for _, p := range pixel.Parameters {
		names = append(names, p.Name)
	}
	for _, name := range []string{"type", "name", "metricName", "stack"} {
		if n := len(slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n != name })); n != 1 {
			t.Errorf("the pixel has %d parameters called %s", n, name)
		}
	}
	for _, topic := range []string{"events.v1", "vitals.v1", "errors.v1"} {
		if !strings.Contains(pixel.Description, topic) {
			t.Errorf("the pixel is said to send events to %q", pixel.Description)
		}
	}
}
