package httpkit

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestDocuments_SendTheSameToAllOrigins(t *testing.T) {
	t.Parallel()
	const contact = "mailto:security@example.com"
	for _, host := range []Host{Query, Ingestion} {
		app := newApp(t, Config{Host: host, Site: Site{PublicURL: api, Origins: []string{console}}})
		discovery := Discovery{Host: host, QueryURL: api, IngestURL: api, Contact: contact}
		documents := discovery.Documents()
		for _, r := range DocumentRoutes(host) {
			Handle(app, http.MethodGet, r.Path, documents.Serve)
			plain := do(t, app, http.MethodGet, r.Path, nil, "")
			etag := plain.header.Get("ETag")
			if plain.status != http.StatusOK || etag == "" || !strings.HasPrefix(plain.header.Get("Content-Type"), r.MediaType) {
				t.Errorf("%s of %s: %d %v", r.Path, host, plain.status, plain.header)
			}
			for _, tc := range []struct {
				method string
				header map[string]string
				status int
			}{
				{http.MethodGet, map[string]string{"Origin": console}, http.StatusOK},
				{http.MethodGet, map[string]string{"If-None-Match": `"x", W/` + etag}, http.StatusNotModified},
				{http.MethodGet, map[string]string{"If-None-Match": `"x"`}, http.StatusOK},
				{http.MethodHead, nil, http.StatusOK},
			} {
				got := do(t, app, tc.method, r.Path, tc.header, "")
				if got.status != tc.status || got.header.Get("ETag") != etag || got.header.Get("Vary") != "" ||
					got.header.Get("Access-Control-Allow-Origin") != "*" ||
					got.header.Get("Access-Control-Allow-Credentials") != "" ||
					got.header.Get("Cache-Control") != "public, max-age=3600" ||
					got.header.Get("Link") != plain.header.Get("Link") {
					t.Errorf("%s %s of %s with %v: %d %v", tc.method, r.Path, host, tc.header, got.status, got.header)
				}
			}
		}
	}
}

func TestDocuments_OmitHostsWithoutAnOrigin(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		d    Discovery
		apis int
	}{
		{Discovery{Host: Ingestion}, 0},
		{Discovery{Host: Ingestion, IngestURL: api}, 2},
		{Discovery{Host: Query, QueryURL: console, IngestURL: api}, 4},
	} {
		documents := tc.d.Documents()
		var catalog struct {
			Linkset []any `json:"linkset"`
		}
		var servers struct {
			Entries []any `json:"entries"`
		}
		if err := json.Unmarshal(documents[apiCatalogPath].body, &catalog); err != nil || catalog.Linkset == nil {
			t.Fatalf("%+v: %s, %v", tc.d, documents[apiCatalogPath].body, err)
		}
		if err := json.Unmarshal(documents[aiCatalogPath].body, &servers); err != nil || servers.Entries == nil {
			t.Fatalf("%+v: %s, %v", tc.d, documents[aiCatalogPath].body, err)
		}
		if len(catalog.Linkset) != tc.apis || len(servers.Entries) != tc.apis/2 {
			t.Errorf("%+v: %+v, %+v", tc.d, catalog, servers)
		}
	}
}

func TestSecurityText_IsStableForADay(t *testing.T) {
	t.Parallel()
	const want = "Contact: tel:+1-201-555-0123\nExpires: 2026-09-27T00:00:00Z\nPreferred-Languages: en\n" +
		"Canonical: https://api.example/.well-known/security.txt\n"
	day := time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC)
	for _, now := range []time.Time{day, day.Add(24*time.Hour - 1).In(time.FixedZone("west", -5*3600))} {
		if got := string(securityText("tel:+1-201-555-0123", api, now)); got != want {
			t.Errorf("at %s:\n%s", now, got)
		}
	}
	if got := string(securityText("tel:+1", "", day.Add(24*time.Hour))); strings.Contains(got, "Canonical") ||
		!strings.Contains(got, "Expires: 2026-09-28T00:00:00Z") {
		t.Errorf("a day later, without an origin:\n%s", got)
	}
}

func TestSecurityText_IsNotFoundWithoutAContact(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{Host: Query})
	discovery := Discovery{Host: Query, QueryURL: api}
	Handle(app, http.MethodGet, securityPath, discovery.Documents().Serve)
	if got := do(t, app, http.MethodGet, securityPath, nil, ""); got.status != http.StatusNotFound ||
		!strings.Contains(got.body, `"code":"NOT_FOUND"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestServerCard_KeepsTheLimitsOfItsSchema(t *testing.T) {
	t.Parallel()
	for host, p := range profiles {
		if len(p.summary) > 100 || len(p.title) > 100 {
			t.Errorf("%s: the summary has %d bytes, the title %d; at most 100 are allowed", host, len(p.summary), len(p.title))
		}
	}
}
