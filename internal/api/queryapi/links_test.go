package queryapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// links are those of these tests. A link of a deleted organization is found by nobody.
var links = map[string]string{"lnk_1": "org_1", "lnk_9": "org_2"}

func (access) LinkByID(_ context.Context, id string) (*link.Link, error) {
	switch organization, ok := links[id]; {
	case !utf8.ValidString(id) || strings.Contains(id, "\x00"):
		return nil, errors.New("invalid byte sequence for encoding \"UTF8\"") // as PostgreSQL says
	case id == "lnk_down":
		return nil, &apierr.Error{Code: apierr.ServiceUnavailable, RetryAfter: 5 * time.Second}
	case !ok:
		return nil, link.ErrNotFound
	default:
		return &link.Link{Record: managed.Record{ID: id, OrganizationID: organization}}, nil
	}
}

const clicks = `{"parameters":["link_total_clicks"],"preset":"today"}`

func TestWhoMayAskAboutALink(t *testing.T) {
	t.Parallel()
	const ofLink = `"owner":"lnk_1"`
	for _, tc := range []struct {
		name, key, query, body string
		status                 int
		contains               string
	}{
		{"a key of the organization", "global", "?link_id=lnk_1", clicks, 200, ofLink},
		{"a key that may read data alone", "reader", "?link_id=lnk_1", clicks, 200, ofLink},
		{"nobody", "", "?link_id=lnk_1", clicks, 401, `"AUTH_REQUIRED"`},
		{"nobody, no such link", "", "?link_id=lnk_0", clicks, 401, `"AUTH_REQUIRED"`},
		{"a key without read:data", "monitors", "?link_id=lnk_1", clicks, 403, `"FORBIDDEN"`},
		{"a key without read:data, no such link", "monitors", "?link_id=lnk_0", clicks, 403, `"FORBIDDEN"`},
		{"a key of one website", "website", "?link_id=lnk_1", clicks, 403, "Access denied to this link"},
		{"a key of another organization", "foreign", "?link_id=lnk_1", clicks, 403, "Access denied to this link"},
		{"no such link", "global", "?link_id=lnk_0", clicks, 403, "Access denied to this link"},
		{"what no link is called", "global", "?link_id=lnk_%00", clicks, 403, "Access denied to this link"},
		{"what is no text", "global", "?link_id=%FF", clicks, 403, "Access denied to this link"},
		{
			"a link wins over what else is named", "global", "?organization_id=org_1&website_id=web_9&link_id=lnk_1",
			clicks, 200, ofLink,
		},
		{"the store is away", "global", "?link_id=lnk_down", clicks, 503, `"SERVICE_UNAVAILABLE"`},
		{
			"a type about links without one", "global", "?website_id=web_1", clicks, 400,
			"Query type link_total_clicks does not support this subject. Ask with link_id",
		},
		{"a type about links of an organization", "global", "", clicks, 400, "Ask with link_id"},
		{
			"a type about websites of a link", "global", "?link_id=lnk_1", summary, 400,
			"Query type summary does not support this subject. Ask with website_id or organization_id",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			resp, body := call(t, http.MethodPost, "/v1/query"+tc.query, tc.key, tc.body)
			if resp.StatusCode != tc.status || !strings.Contains(body, tc.contains) {
				t.Errorf("%d %s\nwant %d %s", resp.StatusCode, body, tc.status, tc.contains)
			}
		})
	}
}

func TestASignedInPersonMayAskAboutTheLinksOfTheirOrganizations(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		person, id string
		status     int
		contains   string
	}{
		{"ann", "lnk_1", 200, `"owner":"lnk_1"`},
		{"ann", "lnk_9", 200, `"owner":"lnk_9"`},
		{"viewer", "lnk_1", 200, `"owner":"lnk_1"`},
		{"viewer", "lnk_9", 403, "Access denied to this link"},
		{"viewer", "lnk_0", 403, "Access denied to this link"},
		{"nobody", "lnk_1", 403, `"FORBIDDEN"`},
	} {
		resp, body := call(t, http.MethodPost, "/v1/query?link_id="+tc.id, "", clicks, "Cookie",
			"millrace_session="+tc.person)
		if resp.StatusCode != tc.status || !strings.Contains(body, tc.contains) {
			t.Errorf("%s about %s: %d %s\nwant %d %s", tc.person, tc.id, resp.StatusCode, body, tc.status, tc.contains)
		}
	}
}

func TestAQuestionAboutALinkIsCompiledToo(t *testing.T) {
	t.Parallel()
	const body = `{"type":"link_top_countries","from":"2026-03-29","to":"2026-03-30"}`
	resp, text := call(t, http.MethodPost, "/v1/query/compile?link_id=lnk_1", "global", body)
	if resp.StatusCode != 200 || !strings.Contains(text, `"owner":"lnk_1"`) {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	if resp, text := call(t, http.MethodPost, "/v1/query/compile?link_id=lnk_9", "global", body); resp.StatusCode != 403 {
		t.Errorf("of another organization: %d %s", resp.StatusCode, text)
	}
}
