package queryapi

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/flagapi"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/internal/testkit/apitest"
)

// FlagWebsite implements flagapi.Websites.
func (a access) FlagWebsite(ctx context.Context, ref string) (*website.Website, error) {
	return a.Website(ctx, ref)
}

// Remembered implements flagapi.Websites.
func (access) Remembered(string) *website.Website { return nil }

// oneFlag is a set of one flag of all websites, and a segment.
type oneFlag struct{}

func (oneFlag) Get(_ context.Context, organizationID string) (*flagset.Set, error) {
	record := managed.Record{ID: "flg_1", OrganizationID: organizationID, Name: "Nav", Version: 2}
	return flagset.New(organizationID, flagset.Mark{}, []*flag.Flag{{
		Record: record, State: flag.Active, About: flag.About{
			Type: flag.Boolean, Visibility: flag.Public, Exposures: flag.Exposures{Mode: flag.ExposeSplit, SamplePercent: 100},
		},
		Definition: flageval.Definition{
			Key: "nav", Active: true, DefaultVariant: "on", OffVariant: "off",
			Variants: []flageval.Variant{
				{Key: "on", Value: json.RawMessage("true")}, {Key: "off", Value: json.RawMessage("false")},
			},
		},
	}}, []*flag.Segment{{
		Record: managed.Record{ID: "seg_1"}, Definition: flageval.Segment{Key: "testers", UserIDs: []string{"bob"}},
	}})
}

func (o oneFlag) AtLeast(ctx context.Context, id string, _ flagset.Mark) (*flagset.Set, error) {
	return o.Get(ctx, id)
}

func TestTheHostServesFlagsWhereThereAreSets(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	deps := Deps{Log: log, Metrics: prometheus.NewRegistry(), Access: access{}, Moves: access{}, Tenants: tenants{}}
	ask := func(target string) (int, string) {
		deps.Metrics = prometheus.NewRegistry()
		app, err := New(Config{}, deps)
		if err != nil {
			t.Fatal(err)
		}
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
		req.Header.Set("X-Api-Key", "global")
		resp, err := app.Test(req, -1)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	const evaluate = "/public/v1/flags/evaluate?clientId=public-1&key=nav"
	if status, body := ask(evaluate); status != http.StatusNotFound {
		t.Errorf("without sets: %d %s", status, body)
	}
	deps.Flags = &flagapi.Deps{
		Log: log, Metrics: prometheus.NewRegistry(), Sets: oneFlag{}, Websites: access{}, Keys: access{},
		Now: func() time.Time { return time.Date(2026, 3, 30, 10, 0, 0, 0, time.UTC) },
	}
	const on = `{"enabled":true,"value":true,"payload":null,"reason":"BOOLEAN_DEFAULT","variant":"on"}`
	if status, body := ask(evaluate); status != http.StatusOK || body != on {
		t.Errorf("with sets: %d %s", status, body)
	}
	deps.Flags.Metrics = prometheus.NewRegistry()
	const want = `{"count":1,"flags":[{"id":"flg_1","organizationId":"org_1","websiteId":null,"version":2,"key":"nav",` +
		`"name":"Nav","description":null,"type":"boolean","status":"active","visibility":"public","tags":[],"owner":null,` +
		`"staleAfterDays":null,"stale":false,` +
		`"exposures":{"mode":"split","samplePercent":100},"createdAt":null,"updatedAt":null,"createdBy":null,` +
		`"variants":[{"key":"on","value":true},{"key":"off","value":false}],"defaultVariant":"on","offVariant":"off",` +
		`"schedule":null,"prerequisites":[],"targets":[],"rules":[],"environments":{}}],"segments":[`
	status, body := ask("/public/v1/flags/definitions?clientId=public-1")
	if status != http.StatusOK || !strings.HasPrefix(body, want) {
		t.Errorf("definitions: %d %s", status, body)
	}
}

func TestTheDocumentHasTheRoutesOfFlags(t *testing.T) {
	t.Parallel()
	_, body := call(t, http.MethodGet, "/openapi.json", "", "")
	doc, err := apitest.ParseOpenAPI([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	const protocol = "POST /public/v1/flags/{clientId}/ofrep/v1/evaluate/flags"
	operations := []string{"GET /public/v1/flags/stream", protocol, protocol + "/{key}"}
	for _, r := range flagapi.Routes {
		operations = append(operations, "GET "+r.Path)
	}
	for _, operation := range operations {
		if !slices.Contains(doc.Operations(), operation) {
			t.Errorf("%s is not in the document", operation)
		}
	}
}
