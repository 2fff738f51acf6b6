package queryapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

// tenants lists the websites of these tests, and in org_many more of them than
// are told.
type tenants struct{}

func (tenants) ListWebsites(_ context.Context, f website.Filter) (found []*website.Website, err error) {
	if f.OrganizationID == "org_many" {
		return many(f.After), nil
	}
	for i := range websites {
		w := websites[i]
		if w.OrganizationID == f.OrganizationID && (f.ID == "" || f.ID == w.ID) && w.ID > f.After {
			w.CreatedAt = time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
			w.Name, w.Domain, w.Timezone, w.Public = "Shop", w.ID+".example", "UTC", w.ID == "web_2"
			found = append(found, &w)
		}
	}
	return found, nil
}

// many returns a page of websites without an end.
func many(after string) []*website.Website {
	page := make([]*website.Website, 999)
	first := 0
	_, _ = fmt.Sscanf(after, "web_%d", &first)
	for i := range page {
		page[i] = &website.Website{Record: managed.Record{ID: fmt.Sprintf("web_%06d", first+i+1), OrganizationID: "org_many"}}
	}
	return page
}

func (tenants) OrganizationByID(_ context.Context, id string) (*org.Organization, error) {
	if id == "" {
		return nil, errors.New("the organization has no id")
	}
	return &org.Organization{ID: id, Name: "Name of " + id}, nil
}

func TestWebsitesAreListedInTheShapeOfTheWire(t *testing.T) {
	t.Parallel()
	resp, body := call(t, http.MethodGet, "/v1/query/websites", "website", "")
	const want = `{"success":true,"requestId":"req_1","total":1,"websites":[{"id":"web_1","clientId":"public-1","name":"Shop",` +
		`"domain":"web_1.example","isPublic":false,"timezone":"UTC","createdAt":"2026-01-02T03:04:05.006Z",` +
		`"organizationId":"org_1","organizationName":"Name of org_1"}]}`
	if resp.StatusCode != http.StatusOK || body != want {
		t.Errorf("%d %s\nwant %s", resp.StatusCode, body, want)
	}
}

func TestWebsitesAreThoseThatTheCallerMayQuery(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		key, query string
		status     int
		want       []string
	}{
		{"global", "", 200, []string{"web_1", "web_2", "web_open"}},
		{"global", "?organization_id=org_1", 200, []string{"web_1", "web_2", "web_open"}},
		{"global", "?organization_id=org_2", 403, nil},
		{"website", "", 200, []string{"web_1"}},
		{"foreign", "", 200, []string{"web_9"}},
		{"powerless", "", 403, nil},
		{"", "", 401, nil},
	} {
		resp, text := call(t, http.MethodGet, "/v1/query/websites"+tc.query, tc.key, "")
		if resp.StatusCode != tc.status {
			t.Errorf("%s%s: %d %s, want %d", tc.key, tc.query, resp.StatusCode, text, tc.status)
		}
		if got := resp.Header.Get("Cache-Control"); resp.StatusCode == 200 && got != "no-store" {
			t.Errorf("%s%s: Cache-Control %q", tc.key, tc.query, got)
		}
		if diff := cmp.Diff(tc.want, ids(t, text)); diff != "" {
			t.Errorf("%s%s (-want +got):\n%s", tc.key, tc.query, diff)
		}
	}
}

func ids(t *testing.T, text string) (ids []string) {
	t.Helper()
	var body websitesBody
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatal(err)
	}
	for _, w := range body.Websites {
		ids = append(ids, w.ID)
	}
	if body.Total != len(ids) {
		t.Errorf("total %d of %d websites", body.Total, len(ids))
	}
	return ids
}

func TestNoMoreWebsitesThanTheirBoundAreListed(t *testing.T) {
	t.Parallel()
	_, text := call(t, http.MethodGet, "/v1/query/websites", "many", "")
	if n := len(ids(t, text)); n != MaxWebsites {
		t.Errorf("%d websites, want %d", n, MaxWebsites)
	}
}
