package rpc_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/testkit/apitest"
)

// shade is an output with a choice that may be none.
type shade struct {
	Percent *int `json:"percent" nullable:"true" enum:"80,100"`
	Nested  struct {
		Names []struct {
			Name *string `json:"name" nullable:"true" enum:"dark,light"`
		} `json:"names"`
	} `json:"nested"`
}

func TestANullableChoiceMayBeNullByTheDocument(t *testing.T) {
	t.Parallel()
	doc, err := rpc.Describe(rpc.Info{Title: "Test", Version: "1", CookieName: "session"}, []rpc.Resource{{
		Name: "shades", Summary: "What this test manages.",
		Operations: []rpc.Operation{rpc.Op(rpc.Spec{Name: "get", Summary: "Get a shade", Class: auth.ViewWebsites},
			func(context.Context, *rpc.Call, *rpc.Empty) (*shade, error) { return &shade{}, nil })},
	}})
	if err != nil {
		t.Fatal(err)
	}
	document, err := apitest.ParseOpenAPI(doc.Text)
	if err != nil {
		t.Fatal(err)
	}
	for response, fits := range map[string]bool{
		`{"percent":null,"nested":{"names":[{"name":null}]}}`:     true,
		`{"percent":80,"nested":{"names":[{"name":"dark"}]}}`:     true,
		`{"percent":81,"nested":{"names":[]}}`:                    false,
		`{"percent":null,"nested":{"names":[{"name":"bright"}]}}`: false,
	} {
		body := `{"success":true,"data":` + response + `,"requestId":"r"}`
		header := http.Header{"Content-Type": {"application/json"}}
		err := document.Check(http.MethodPost, "/rpc/shades/get", http.StatusOK, header, []byte(body))
		if (err == nil) != fits {
			t.Errorf("%s: %v", response, err)
		}
	}
}
