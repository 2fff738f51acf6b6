package queryapi

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

// people are the sessions of these tests by their token: the organizations of
// the person, in order.
var people = map[string][]org.Member{
	"ann":    {{OrganizationID: "org_1", Role: org.RoleOwner}, {OrganizationID: "org_2", Role: org.RoleViewer}},
	"viewer": {{OrganizationID: "org_1", Role: org.RoleViewer}},
	"nobody": {},
}

func (access) SignedIn(_ context.Context, token string) (string, *org.User, []org.Member, error) {
	memberships, ok := people[token]
	if !ok {
		return "", nil, nil, apierr.New(apierr.AuthRequired)
	}
	return "ses_" + token, &org.User{ID: "usr_" + token, Email: token + "@example.com"}, memberships, nil
}

var _ auth.Sessions = access{}

func TestASignedInPersonMayAskAboutTheirOrganizations(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, person, query string
		status              int
		contains            string
	}{
		{"a website of the first organization", "ann", "?website_id=web_1", 200, `"owner":"web_1"`},
		{"a website of the second organization", "ann", "?website_id=web_9", 200, `"owner":"web_9"`},
		{"a viewer", "viewer", "?website_id=web_1", 200, `"owner":"web_1"`},
		{"nothing, of one organization", "viewer", "", 200, `"owner":"org_1"`},
		{"nothing, of several organizations", "ann", "", 400, "organizations: org_1 (owner), org_2 (viewer)"},
		{"the second organization", "ann", "?organization_id=org_2", 200, `"owner":"org_2"`},
		{"another organization", "viewer", "?organization_id=org_2", 403, "Access denied to this organization"},
		{"a website of another organization", "viewer", "?website_id=web_9", 403, "Access denied to this website"},
		{"a website of nobody", "ann", "?website_id=web_orphan", 403, "Access denied to this website"},
		{"no such website", "ann", "?website_id=web_0", 403, "Access denied to this website"},
		{"someone without an organization", "nobody", "", 403, `"FORBIDDEN"`},
		{"a session that ended", "old", "?website_id=web_1", 401, `"AUTH_REQUIRED"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			resp, body := call(t, http.MethodPost, "/v1/query"+tc.query, "", summary, "Cookie", "millrace_session="+tc.person)
			if resp.StatusCode != tc.status || !strings.Contains(body, tc.contains) {
				t.Errorf("%d %s\nwant %d %s", resp.StatusCode, body, tc.status, tc.contains)
			}
		})
	}
}

func TestAnotherSitesPageMayNotAskWithACookie(t *testing.T) {
	t.Parallel()
	resp, body := call(t, http.MethodPost, "/v1/query?website_id=web_1", "", summary, "Cookie", "millrace_session=ann",
		"Origin", "https://evil.example")
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	resp, body = call(t, http.MethodPost, "/v1/query?website_id=web_1", "global", summary, "Origin",
		"https://evil.example")
	if resp.StatusCode != http.StatusOK {
		t.Errorf("with a key: %d %s", resp.StatusCode, body)
	}
}

// Who was revoked while a body arrived asks no more.
func TestABodyIsReadBeforeItIsLookedAtWhoAsks(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/query?website_id=web_1", "/v1/query/compile?website_id=web_1"} {
		resp, body := call(t, http.MethodPost, path, "nobody", strings.Repeat(" ", analytics.MaxBodyBytes+1))
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s with a bad key and a body that is too large: %d %s", path, resp.StatusCode, body)
		}
		if resp, body := call(t, http.MethodPost, path, "nobody", "{"); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s with a bad key and a body that is broken: %d %s", path, resp.StatusCode, body)
		}
	}
}

// Moves has the second organization be left by a website.
func (access) Moves(_ context.Context, organizationID string) (*website.Moves, error) {
	if organizationID == "org_2" {
		return &website.Moves{Left: []string{"web_1"}}, nil
	}
	return &website.Moves{}, nil
}

func TestAQuestionAboutAnOrganizationLeavesOutWhatLeftIt(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{"org_1": false, "org_2": true} {
		for _, ask := range []struct{ path, body string }{
			{"/v1/query/compile?organization_id=" + id, `{"type":"summary","from":"2026-03-01","to":"2026-03-02"}`},
			{"/v1/query/compile", `{"projectId":"` + id + `","type":"summary","from":"2026-03-01","to":"2026-03-02"}`},
		} {
			_, body := call(t, http.MethodPost, ask.path, "", ask.body, "Cookie", "millrace_session=ann")
			if !strings.Contains(body, `"owner":"`+id+`"`) || strings.Contains(body, `"left":"web_1"`) != want {
				t.Errorf("%s %s: %s", ask.path, ask.body, body)
			}
		}
	}
}
