package ingestapi

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/event"
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
		if r.In != nil && (r.Topic == "" || len(r.Answers) == 0) || r.Help == "" {
			t.Errorf("%s %s says too little: %+v", r.Method, r.Path, r)
		}
	}
	var parsed struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any `json:"properties"`
				Required   []string       `json:"required"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &parsed); err != nil {
		t.Fatal(err)
	}
	for _, form := range event.Forms {
		schema := parsed.Components.Schemas[schemaName(form)]
		for _, f := range form.Fields {
			if schema.Properties[f.Name] == nil || slices.Contains(schema.Required, f.Name) != f.Required {
				t.Errorf("%s of %s is described otherwise", f.Name, form.Name)
			}
		}
	}
	if !strings.Contains(string(text), `"servers":[{"url":"https://in.example.com"}]`) {
		t.Error("the document does not say where the host is")
	}
}
