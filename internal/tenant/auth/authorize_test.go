package auth_test

import (
	"errors"
	"testing"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
)

// verdict is what AuthorizeWebsite said: a code, "not found" or "yes".
func verdict(err error) string {
	switch f, ok := errors.AsType[*apierr.Error](err); {
	case err == nil:
		return "yes"
	case errors.Is(err, website.ErrNotFound):
		return "not found"
	case ok:
		return string(f.Code)
	default:
		return err.Error()
	}
}

// TestWebsiteIsOpenToTheRightKeysAlone tries every scope against every reach of
// a key and every owner of the website.
func TestWebsiteIsOpenToTheRightKeysAlone(t *testing.T) {
	t.Parallel()
	websites := map[string]*website.Website{
		"own":      {Record: managed.Record{ID: "web_1", OrganizationID: "org_1"}},
		"sibling":  {Record: managed.Record{ID: "web_2", OrganizationID: "org_1"}},
		"foreign":  {Record: managed.Record{ID: "web_3", OrganizationID: "org_2"}},
		"orphaned": {Record: managed.Record{ID: "web_4"}},
	}
	for _, tc := range []struct {
		reach string // of the key
		site  string
		want  string // when the scope is held
	}{
		{"global", "own", "yes"},
		{"global", "sibling", "yes"},
		{"global", "foreign", "not found"},
		{"global", "orphaned", "not found"},
		{"website", "own", "yes"},
		{"website", "sibling", "ACCESS_DENIED"},
		{"website", "foreign", "not found"},
		{"website", "orphaned", "not found"},
		// A website that moved to another organization takes no key with it.
		{"moved", "foreign", "not found"},
		{"homeless", "orphaned", "not found"},
	} {
		for _, need := range auth.Scopes {
			for _, held := range auth.Scopes {
				scopes, err := auth.ParseScopes([]string{string(held.Scope)})
				if err != nil {
					t.Fatal(err)
				}
				p := auth.Principal{Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_1", Scopes: scopes}
				switch tc.reach {
				case "website":
					p.WebsiteID = "web_1"
				case "moved":
					p.WebsiteID = "web_3"
				case "homeless":
					p.OrganizationID = ""
				}
				want := tc.want
				if held.Scope != need.Scope {
					want = "FORBIDDEN"
				}
				if got := verdict(auth.AuthorizeWebsite(p, websites[tc.site], need.Scope)); got != want {
					t.Errorf("%s key with %s asks for %s on the %s website: %s, want %s",
						tc.reach, held.Scope, need.Scope, tc.site, got, want)
				}
			}
		}
	}
}

func TestAnonymousCallerIsAskedForACredential(t *testing.T) {
	t.Parallel()
	p := auth.Principal{OrganizationID: "org_1", Scopes: auth.AllScopes()}
	w := &website.Website{Record: managed.Record{ID: "web_1", OrganizationID: "org_1"}}
	if got := verdict(auth.AuthorizeWebsite(p, w, auth.ScopeReadData)); got != "AUTH_REQUIRED" {
		t.Errorf("AuthorizeWebsite() = %s, want AUTH_REQUIRED", got)
	}
	if p.Global() {
		t.Error("an anonymous caller reaches every website")
	}
}
